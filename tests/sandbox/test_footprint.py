"""Thousands of evaluations do not grow the process."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalward.guard.target import Shape
from evalward.sandbox import evaluate


def resident_bytes() -> int:
    fields = Path("/proc/self/statm").read_text(encoding="ascii").split()
    return int(fields[1]) * 4096


@pytest.mark.parametrize("calls", [1_000, pytest.param(10_000, marks=pytest.mark.exhaustive)])
def test_rss_grows_by_at_most_five_megabytes_over_many_calls(calls: int) -> None:
    code = b"const rows = []; for (let i = 0; i < 20; i++) rows.push({ i, s: 'x'.repeat(i) }); rows"
    for _ in range(300):
        evaluate(code, shape=Shape.SCRIPT)
    before = resident_bytes()
    for _ in range(calls):
        evaluate(code, shape=Shape.SCRIPT)
    assert resident_bytes() - before <= 5 << 20
