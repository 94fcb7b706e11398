from __future__ import annotations

from typing import Any

from guard_cases import over, verdict

from evalward.guard.checks.seed import seed_findings
from evalward.guard.syntax.shapes import Rejection, programs_of
from evalward.guard.target import Shape


@over("checks/seed")
def test_the_seed_guards_verdicts_are_replayed(case: dict[str, Any]) -> None:
    found = verdict(case["code"], profile="seed")
    assert found.construct == case.get("is")
    assert found.keyword == case.get("keyword")
    assert found.allowed == (case.get("is") is None and case.get("keyword") is None)


def test_a_hidden_call_before_a_long_sum_is_seen() -> None:
    # A query skips what lies deeper than 65,533 levels; the walk does not.
    source = ("process['exit'](0)" + "+1" * 70_000).encode()
    programs = programs_of(source, Shape.SCRIPT, limit_bytes=1 << 20)
    assert not isinstance(programs, Rejection)
    assert [each.construct for each in seed_findings(programs[0], source)] == ["process.exit"]
