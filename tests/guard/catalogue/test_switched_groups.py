"""The groups of members that are off by default, switched on by a policy (guard.md §3)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from guard_cases import over

from evalward import Policy
from evalward.guard import judge
from evalward.guard.rules import Action
from evalward.guard.target import Target


@over("catalogue/switched_groups")
def test_a_group_denies_its_members_once_it_is_switched_on(case: dict[str, Any]) -> None:
    target = Target(case["target"])
    off = Policy.default().allowing([target]).rules_for(target)
    on = replace(off, actions={**off.actions, case["group"]: Action.BLOCK})

    verdicts = [judge(case["code"].encode(), target=target, shape=None, rules=rules) for rules in (off, on)]

    found = [None if verdict.construct is None else str(verdict.construct) for verdict in verdicts]
    assert found == [None, None if case.get("allowed") else case["group"]]
