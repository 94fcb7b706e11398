"""Words that are no names, everywhere or in strict code (ECMA-262 §12.7.2, §13.1.1)."""

from __future__ import annotations

from typing import Final

_ALWAYS: Final = """
    break case catch class const continue debugger default delete do else enum export extends false finally for function
    if import in instanceof new null return super switch this throw true try typeof var void while with
    await yield let
"""
# The last three are names in some sloppy code. No text needs that, and parsers differ about it.
RESERVED: Final = frozenset(_ALWAYS.split())
STRICT: Final = frozenset({"implements", "interface", "package", "private", "protected", "public", "static"})
UNASSIGNABLE: Final = frozenset({"eval", "arguments"})
NOTABLE: Final = frozenset(word.encode() for word in RESERVED | STRICT | UNASSIGNABLE)
