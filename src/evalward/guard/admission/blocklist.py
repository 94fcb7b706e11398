"""Blocklisted words in the raw text, and which occurrences count (guard.md §1, step 3)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evalward.guard.constructs import (
    eval_call,
    function_call,
    function_new,
    process_exit,
    proto,
    require_call,
)
from evalward.guard.syntax.opaque_spans import COMMENT, STRING, span_around

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalward.guard.rules import Keyword
    from evalward.guard.syntax.opaque_spans import OpaqueSpan

# These are calls, so mentioning them in text is harmless; a plain word may be a key.
CALL_LIKE = frozenset({"process.exit", "require(", "eval(", "Function("})

TEXT_OF = {
    "process.exit": frozenset({process_exit.LABEL}),
    "require(": frozenset({require_call.LABEL}),
    "eval(": frozenset({eval_call.LABEL}),
    "Function(": frozenset({function_call.LABEL, function_new.LABEL}),
    "__proto__": frozenset({proto.LABEL}),
}
"""The constructs that a built-in keyword spells: word and use are found in the same place."""

_COMPARABLE: Final = frozenset({"__proto__"})
# What is compared gives a boolean. Nothing of a line before is read: it may end in a comment.
_COMPARES_BEFORE: Final = re.compile(rb"(?:[=!]==?|\bcase)[ \t]*\Z")
_COMPARES_AFTER: Final = re.compile(rb"[ \t]*[=!]==?")
# What follows the right side; a call or a read of it would have its text.
_ENDS: Final = re.compile(rb"\s*(?:[);,&|}\]:]|\?(?!\.)|\Z)")
_LONGEST_OPERATOR: Final = 16


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One place of a keyword, at payload byte offsets."""

    keyword: Keyword
    start: int
    end: int


def occurrences(payload: bytes, keywords: Sequence[Keyword]) -> list[Occurrence]:
    """Return every occurrence of every keyword, overlapping ones included, by place."""
    found = []
    for keyword in keywords:
        text = keyword.text.encode()
        start = payload.find(text) if text else -1
        while start >= 0:
            found.append(Occurrence(keyword, start, start + len(text)))
            start = payload.find(text, start + 1)
    found.sort(key=lambda occurrence: (occurrence.start, occurrence.end))
    return found


def confirmed(
    found: Sequence[Occurrence], payload: bytes, spans: tuple[OpaqueSpan, ...], offset: int
) -> list[Occurrence]:
    """Return those of ``found`` that the tree does not show to be harmless.

    ``spans`` are the opaque spans of the wrapped source, in which the payload begins at ``offset``. Text in a
    regular expression is matched and not run, like text in a string.
    """
    return [each for each in found if _counts(each, payload, spans, offset)]


def whole_words(found: Sequence[Occurrence], payload: bytes) -> list[Occurrence]:
    """Return those of ``found`` that are not part of a longer name; for a payload without a tree."""
    return [each for each in found if not _continues(payload, each)]


def _counts(each: Occurrence, payload: bytes, spans: tuple[OpaqueSpan, ...], offset: int) -> bool:
    if _continues(payload, each):
        return False
    span = span_around(spans, each.start + offset, each.end + offset)
    if span is None:
        return True
    if span == (each.start + offset, each.end + offset, STRING) and _is_compared(payload, each):
        return False
    return span[2] != COMMENT and each.keyword.text not in CALL_LIKE


def _is_compared(payload: bytes, each: Occurrence) -> bool:
    """Whether a string that is the keyword is one side of a comparison, as in ``key === '__proto__'``.

    Such text keeps a payload from prototypes (guard.md §7).
    """
    start, end = each.start - 1, each.end + 1
    if each.keyword.text not in _COMPARABLE or start < 0 or payload[start : each.start] not in (b"'", b'"'):
        return False
    if _COMPARES_AFTER.match(payload, end):
        return True
    before = payload[max(0, start - _LONGEST_OPERATOR) : start]
    return _COMPARES_BEFORE.search(before) is not None and _ENDS.match(payload, end) is not None


def _continues(payload: bytes, each: Occurrence) -> bool:
    """Say whether the occurrence is part of a longer name, as in ``$eval(`` or ``process.exitCode``."""
    text = each.keyword.text
    before = payload[max(0, each.start - 4) : each.start].decode("utf-8", "ignore")[-1:]
    after = payload[each.end : each.end + 4].decode("utf-8", "ignore")[:1]
    return (_in_name(text[0]) and _in_name(before)) or (_in_name(text[-1]) and _in_name(after))


def _in_name(character: str) -> bool:
    return character in ("$", "_", "\u200c", "\u200d") or character.isalnum()
