"""Blocklisted words in the raw text, and which occurrences count (guard.md §1, step 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evalward.guard.constructs import (
    eval_call,
    function_call,
    function_new,
    process_exit,
    proto,
    require_call,
)
from evalward.guard.syntax.opaque_spans import COMMENT, span_around

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


def _counts(each: Occurrence, payload: bytes, spans: tuple[OpaqueSpan, ...], offset: int) -> bool:
    if _continues(payload, each):
        return False
    span = span_around(spans, each.start + offset, each.end + offset)
    if span is None:
        return True
    return span[2] != COMMENT and each.keyword.text not in CALL_LIKE


def _continues(payload: bytes, each: Occurrence) -> bool:
    """Say whether the occurrence is part of a longer name, as in ``$eval(`` or ``process.exitCode``."""
    text = each.keyword.text
    before = payload[max(0, each.start - 4) : each.start].decode("utf-8", "ignore")[-1:]
    after = payload[each.end : each.end + 4].decode("utf-8", "ignore")[:1]
    return (_in_name(text[0]) and _in_name(before)) or (_in_name(text[-1]) and _in_name(after))


def _in_name(character: str) -> bool:
    return character in ("$", "_", "\u200c", "\u200d") or character.isalnum()
