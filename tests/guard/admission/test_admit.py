"""What is denied before a payload is parsed: by its size, its encoding and its target (guard.md §1)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from guard_cases import RULES, verdict

from evalward.codes import Code


@pytest.mark.parametrize(
    ("payload", "code", "limit"),
    [
        (b" " * 131_073, Code.EVAL_PAYLOAD_TOO_LARGE, ("payload_bytes", 131_072, 131_073)),
        (b"\xff", Code.EVAL_BAD_ENCODING, None),
        (b"'\xed\xa0\x80'", Code.EVAL_BAD_ENCODING, None),
        (b"1\0", Code.EVAL_BAD_ENCODING, None),
    ],
    ids=["size", "byte", "surrogate", "nul"],
)
def test_admission(payload: bytes, code: Code, limit: tuple[str, int, int] | None) -> None:
    found = verdict(payload)
    assert (found.code, found.limit) == (code, limit)


def test_a_target_that_is_not_opted_in_is_denied_before_anything_is_read() -> None:
    found = verdict("((( eval(", rules=replace(RULES, allowed=False))
    assert found.code is Code.EVAL_TARGET_DENIED
