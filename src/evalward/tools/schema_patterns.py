r"""The regular expressions of an ``input_schema``: matched by RE2, in time linear in the text.

JSON Schema specifies those of ECMA-262. RE2 lacks lookaround, backreferences and ``\u0041``; a pattern with one of
them is rejected when the manifest is loaded. Supported patterns have their ECMA-262 meaning, except that ``\s`` and
``\w`` are ASCII only.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import re2  # type: ignore[import-untyped]

MAX_INSTRUCTIONS: Final = 1_000
"""Size of a compiled pattern: matching takes at most this many steps for each character."""
MAX_PATTERN: Final = 1_024
"""Characters of a pattern."""
_OPTIONS: Final = re2.Options()
_OPTIONS.log_errors = False  # to stderr, with the pattern
_OPTIONS.max_mem = 1 << 20


class PatternError(ValueError):
    """A pattern that a manifest may not have; the message says why."""


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> Any:
    """Return the compiled pattern; raise PatternError."""
    if len(pattern) > MAX_PATTERN:
        raise PatternError(f"a pattern longer than {MAX_PATTERN} characters")
    try:
        expression = re2.compile(pattern, options=_OPTIONS)
    except re2.error as error:
        said = error.args[0]
        raise PatternError(
            f"a pattern that RE2 does not support ({said.decode('utf-8', 'replace')})"
        ) from None
    if expression.programsize > MAX_INSTRUCTIONS:
        raise PatternError(f"a pattern of more than {MAX_INSTRUCTIONS} instructions")
    return expression


def is_found(pattern: str, text: str) -> bool:
    """Return whether ``pattern`` matches somewhere in ``text``."""
    return compiled(pattern).search(text) is not None
