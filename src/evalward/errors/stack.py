"""Stack frames for verbose mode (seed 004): where a failure happened, without paths, values or messages."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from types import TracebackType

FULL: Final = 1_000
"""The number of frames that ``full`` stands for."""
_PACKAGE = "evalward"
# Every request passes through these, so they say nothing about this one.
_HARNESS = frozenset({("server",), ("cli",), ("judging", "in_process"), ("judging", "caching")})


def frames(trace: TracebackType | None, limit: int) -> list[str]:
    """Return at most ``limit`` frames, the innermost first, as ``module:line in function``.

    Frames of the server itself are dropped; another package's module is named by its file alone.
    """
    found = []
    for frame in reversed(traceback.extract_tb(trace)):
        parts = Path(frame.filename).with_suffix("").parts
        inside = parts[parts.index(_PACKAGE) :] if _PACKAGE in parts else parts[-1:]
        if inside[1:2] in _HARNESS or inside[1:3] in _HARNESS:
            continue
        found.append(f"{'.'.join(inside)}:{frame.lineno} in {frame.name}")
    return found[:limit]


def parse_verbose(text: str) -> int:
    """Return the frames that ``N`` or ``full`` asks for; raise ValueError for anything else."""
    if text == "full":
        return FULL
    if not (text.isascii() and text.isdecimal() and int(text) <= FULL):
        raise ValueError(f"{text!a} is neither a number of frames up to {FULL} nor full")
    return int(text)
