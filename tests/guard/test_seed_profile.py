from __future__ import annotations

from typing import Any

from guard_cases import over, verdict


@over("seed")
def test_the_seed_guards_verdicts_are_replayed(case: dict[str, Any]) -> None:
    found = verdict(case["code"], profile="seed")
    assert found.construct == case.get("is")
    assert found.keyword == case.get("keyword")
    assert found.allowed == (case.get("is") is None and case.get("keyword") is None)
