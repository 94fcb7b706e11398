"""``process_reads`` and the guard must mean the same members of ``process``."""

import pytest
from pydantic import ValidationError

from evalward.guard.catalogue.entries import load_catalogue
from evalward.guard.constructs.process_member import DOCUMENTED_MEMBERS
from evalward.policy import Policy
from evalward.policy.fields import CAPABILITY_READS

OF_EVERY_OBJECT = {"__proto__"}


def test_every_capability_is_a_member_that_the_guard_documents() -> None:
    assert CAPABILITY_READS - OF_EVERY_OBJECT <= DOCUMENTED_MEMBERS


def test_the_catalogue_denies_every_capability() -> None:
    """``process.env`` alone is listed; its names are judged one by one."""
    assert CAPABILITY_READS & load_catalogue().get("process").members.keys() == {"env"}


@pytest.mark.parametrize("member", sorted(CAPABILITY_READS))
def test_no_policy_allows_a_capability(member: str) -> None:
    with pytest.raises(ValidationError, match="reading this member yields a capability"):
        Policy.model_validate({"process_reads": [member]})
