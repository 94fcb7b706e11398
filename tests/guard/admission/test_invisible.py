"""The invisible characters of a payload, by their offsets."""

from __future__ import annotations

from typing import Any

from guard_cases import over

from evalward.guard.admission.invisible import invisible_characters

FEW = 6


@over("admission/invisible")
def test_characters(case: dict[str, Any]) -> None:
    payload = case["code"].encode()
    assert case["offsets"] == [start for start, _ in invisible_characters(payload, limit=FEW)]
    assert all(len(payload[a:b].decode()) == 1 for a, b in invisible_characters(payload, limit=FEW))
