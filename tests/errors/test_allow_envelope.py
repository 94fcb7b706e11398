"""The fast envelope of a plain allow is byte for byte equal to the canonical form of the built one."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalward.errors import AllowEnvelope, Code, NotJsonError, Provenance, canonical_json, verdict_envelope
from evalward.guard.target import Profile, Shape, Target
from evalward.guard.verdict import Finding, Verdict

PROVENANCE = Provenance("0.1.0", "a" * 64, "b" * 12, 'gr\u00e4mmar "1.0"')
HASH = "0123456789abcdef" * 4
FORM = AllowEnvelope(PROVENANCE)
TEXT = st.text(st.characters(exclude_categories=["Cs"]))


def plain(**fields: Any) -> Verdict:
    frame = {
        "target": Target.MAIN,
        "shape": None,
        "profile": Profile.BALANCED,
        "code_hash": HASH,
        "code_length": 1,
    }
    return Verdict(**{"code": None, **frame, **fields})


@given(
    st.sampled_from(Target),
    st.none() | st.sampled_from(Shape),
    st.sampled_from(Profile),
    st.integers(0, 2**40),
    st.fixed_dictionaries(
        {
            "elapsed_ms": st.floats(0, allow_nan=False, allow_infinity=False),
            "decision_id": st.from_regex("[0-9a-f]{32}", fullmatch=True) | TEXT,
            "audited": st.booleans(),
            "session_id": st.none() | TEXT,
        }
    ),
)
def test_the_text_is_the_canonical_form(
    target: Target, shape: Shape | None, profile: Profile, length: int, about: dict[str, Any]
) -> None:
    verdict = plain(target=target, shape=shape, profile=profile, code_length=length)
    text = FORM.text(verdict, **about)
    whole = canonical_json(verdict_envelope(verdict, provenance=PROVENANCE, **about))
    assert text is None or text.encode() == whole
    assert text is not None or not about["decision_id"].isalnum()


ABOUT: dict[str, Any] = {"elapsed_ms": 0.5, "decision_id": "d", "audited": True, "session_id": None}


@pytest.mark.parametrize(
    "more",
    [
        {"code": Code.EVAL_SYNTAX_ERROR},
        {"shadow": (Finding("with"),)},
        {"withheld": plain(code=Code.EVAL_BLOCKED_KEYWORD, keyword="Function(")},
        {"code_hash": '"'},
    ],
    ids=lambda more: next(reversed(more)),
)
def test_what_says_more_has_no_such_text(more: dict[str, Any]) -> None:
    assert FORM.text(plain(**more), **ABOUT) is None


@pytest.mark.parametrize("elapsed_ms", [float("nan"), float("inf")])
def test_a_time_that_no_json_carries_has_no_such_text(elapsed_ms: float) -> None:
    assert FORM.text(plain(), **{**ABOUT, "elapsed_ms": elapsed_ms}) is None


def test_a_session_that_no_json_carries_is_refused() -> None:
    with pytest.raises(NotJsonError):
        FORM.text(plain(), **{**ABOUT, "session_id": "\ud800"})
