"""Ten thousand evaluations do not grow the process."""

from __future__ import annotations

from pathlib import Path

from evalward.guard.target import Shape
from evalward.sandbox import evaluate


def resident_bytes() -> int:
    fields = Path("/proc/self/statm").read_text(encoding="ascii").split()
    return int(fields[1]) * 4096


def test_rss_grows_by_at_most_five_megabytes_over_ten_thousand_calls() -> None:
    code = b"const rows = []; for (let i = 0; i < 20; i++) rows.push({ i, s: 'x'.repeat(i) }); rows"
    for _ in range(300):
        evaluate(code, shape=Shape.SCRIPT)
    before = resident_bytes()
    for _ in range(10_000):
        evaluate(code, shape=Shape.SCRIPT)
    assert resident_bytes() - before <= 5 << 20
