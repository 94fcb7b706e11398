"""The spans of a program that are text rather than code: comments, string and template text, regular expressions."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from evalward.guard.syntax.grammar import COMMENTS, REGEX_TEXT, STRING_TEXT

if TYPE_CHECKING:
    from tree_sitter import Node

OpaqueSpan = tuple[int, int, str]

COMMENT, STRING, REGEX = "c", "s", "r"
_KIND_OF = (
    dict.fromkeys(COMMENTS, COMMENT) | dict.fromkeys(STRING_TEXT, STRING) | dict.fromkeys(REGEX_TEXT, REGEX)
)


def opaque_spans(root: Node) -> tuple[OpaqueSpan, ...]:
    """Return the sorted spans of text under ``root``; adjacent spans of one literal are joined.

    ``${}`` of a template is code, so the text before and after it are two spans. Comments are never joined:
    an html-like comment may follow another comment without a gap, and ends elsewhere.
    """
    found: list[OpaqueSpan] = []
    stack = [root]
    while stack:
        node = stack.pop()
        label = _KIND_OF.get(node.kind_id)
        if label is not None:
            found.append((node.start_byte, node.end_byte, label))
        elif node.child_count:
            stack.extend(node.children)
    found.sort()
    joined: list[OpaqueSpan] = []
    for start, end, label in found:
        if label != COMMENT and joined and joined[-1][1] == start and joined[-1][2] == label:
            joined[-1] = (joined[-1][0], end, label)
        else:
            joined.append((start, end, label))
    return tuple(joined)


def span_around(spans: tuple[OpaqueSpan, ...], start: int, end: int) -> OpaqueSpan | None:
    """Return the span that holds all of ``[start, end)``, or None when any of it is code."""
    index = bisect_right(spans, (start, 0x7FFFFFFF, "")) - 1
    if index >= 0 and spans[index][0] <= start and end <= spans[index][1]:
        return spans[index]
    return None
