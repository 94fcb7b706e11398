"""How a hook blocks a call: the exit code that all products agree on, and the reason on standard error."""

from __future__ import annotations

import json
import sys
from typing import Final

from evalward.codes import Code

BLOCKED: Final = 2
"""The exit code that blocks; most products let a call through on any other failure. ``ask.py`` has it, too."""


def blocked(why: str) -> int:
    """Write ``why`` as an envelope to standard error; return the exit code that blocks."""
    envelope = {"ok": False, "code": Code.GUARD_UNAVAILABLE.value, "error": why, "retryable": True}
    text = f"Evalward: {why} {json.dumps(envelope, separators=(',', ':'))}\n"
    sys.stderr.buffer.write(text.encode("utf-8", "replace"))
    sys.stderr.buffer.flush()
    return BLOCKED
