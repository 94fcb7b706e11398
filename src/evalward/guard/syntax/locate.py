"""Byte offsets of a payload as lines and columns."""

from __future__ import annotations

from evalward.guard.verdict import Location

# ECMA-262 §12.3: CR LF is one line terminator; LS and PS are line terminators too.
_TERMINATORS = ("\r\n", "\r", "\u2028", "\u2029")


def locate(payload: bytes, start: int, end: int) -> Location:
    """Return where ``payload[start:end]`` lies; offsets outside the payload are clamped to its ends.

    Lines and columns count from 1, columns in code points.
    """
    start = min(max(start, 0), len(payload))
    end = min(max(end, start), len(payload))
    before = payload[:start].decode("utf-8", "replace")
    for terminator in _TERMINATORS:
        if terminator in before:
            before = before.replace(terminator, "\n")
    line = before.count("\n") + 1
    column = len(before) - (before.rfind("\n") + 1) + 1
    return Location(line=line, column=column, start=start, end=end)
