"""A new block is audited for one release before it is enforced, and a policy may pin the ruleset (contract.md §7)."""

from dataclasses import replace
from typing import Any

import pytest

from evalward import validate
from evalward.guard.constructs import CONSTRUCTS, labels
from evalward.guard.constructs.labels import RULESET_NUMBER, audited_under
from evalward.policy import Policy, PolicyError, parse_policy

NEXT = RULESET_NUMBER + 1
NEW = "string-timer"
PAYLOAD = b"setTimeout('go()', 1)"


@pytest.fixture
def _new_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make one construct new: the next ruleset is the first that blocks it."""
    monkeypatch.setattr(labels, "CONSTRUCTS", {**CONSTRUCTS, NEW: replace(CONSTRUCTS[NEW], since=NEXT)})


def policy(**fields: Any) -> Policy:
    document = {"api_version": "evalward/v1", "targets": {"renderer": {"allowed": True}}, **fields}
    return parse_policy(document, source="the test")


@pytest.mark.usefixtures("_new_block")
@pytest.mark.parametrize(
    ("fields", "blocked"),
    [
        ({}, False),
        ({"ruleset": RULESET_NUMBER}, False),
        ({"ruleset": NEXT}, True),
        ({"profile": "strict"}, True),
        ({"constructs": {NEW: "block"}}, True),
        ({"constructs": {NEW: "allow"}, "ruleset": NEXT}, False),
    ],
)
def test_a_new_block_is_audited_until_the_next_ruleset(fields: dict[str, Any], *, blocked: bool) -> None:
    verdict = validate(PAYLOAD, target="renderer", shape="script", policy=policy(**fields))

    assert verdict.allowed is not blocked
    assert verdict.construct == (NEW if blocked else None)
    assert [each.construct for each in verdict.shadow] == (
        [NEW] if not blocked and "constructs" not in fields else []
    )


@pytest.mark.usefixtures("_new_block")
def test_a_pin_that_changes_something_is_another_policy() -> None:
    assert policy(ruleset=NEXT).digest != policy().digest == policy(ruleset=RULESET_NUMBER).digest


@pytest.mark.parametrize("ruleset", [0, NEXT + 1, "1", 1.0, True])
def test_a_ruleset_that_this_version_does_not_know_is_refused(ruleset: object) -> None:
    with pytest.raises(PolicyError, match="ruleset"):
        policy(ruleset=ruleset)


def test_nothing_waits_for_a_ruleset_beyond_the_next_one() -> None:
    assert audited_under(NEXT) == frozenset()
