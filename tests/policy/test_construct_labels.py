import pytest

from evalward.guard.constructs.labels import (
    CONSTRUCT_LABELS,
    OFF_BY_DEFAULT_LABELS,
    UNSWITCHABLE_LABELS,
    catalogue_label,
    is_known_label,
)
from evalward.guard.constructs.process_member import DOCUMENTED_MEMBERS


def test_the_special_labels_are_labels() -> None:
    assert CONSTRUCT_LABELS >= OFF_BY_DEFAULT_LABELS | UNSWITCHABLE_LABELS
    assert not OFF_BY_DEFAULT_LABELS & UNSWITCHABLE_LABELS


@pytest.mark.parametrize(
    "label",
    [
        *("", "process.", "process.a.b", "process.exit\n", "process.exit()", "Process.exit"),
        *("process.é", "eval", "x", "process." + "a" * 65),
    ],
)
def test_unknown_labels(label: str) -> None:
    assert not is_known_label(label)
    with pytest.raises(ValueError, match="not a construct label"):
        catalogue_label(label)


def test_a_member_that_a_payload_made_up_is_left_out_of_logs() -> None:
    assert catalogue_label("process.mainModule") == "process.mainModule"
    assert catalogue_label("process.iAmPayloadText") == "process"


def test_members_are_names() -> None:
    assert all(is_known_label(f"process.{name}") for name in DOCUMENTED_MEMBERS)
