"""Rewrites of a payload that does not parse in its shape, and would in another form."""

from __future__ import annotations

import re
from typing import Final

from evalward.guard.repair.reading import Edit, kind_of
from evalward.guard.syntax.shapes import Rejection, programs_of
from evalward.guard.target import Shape

_RETURNED: Final = re.compile(rb"\s*return\b\s*")
_ENDED: Final = re.compile(rb"[;\s]*\Z")


def reshaped(payload: bytes, shape: Shape | None, kind: str | None) -> list[Edit]:
    """Return the edits that make statements a function, or one ``return`` an expression; none where unsure."""
    if shape not in {Shape.EXPRESSION, Shape.FUNCTION} or kind is None:
        return []
    end = len(payload)
    returned, ended = _RETURNED.match(payload), _ENDED.search(payload)
    if (
        shape is Shape.EXPRESSION
        and returned
        and ended
        and _parses(payload[returned.end() : ended.start()], shape)
    ):
        return [Edit(0, returned.end(), ""), Edit(ended.start(), end, "")]
    if kind == "type_annotation" or not _answers(payload):
        return []
    opening = "async () => { " if b"await" in payload else "() => { "
    closing = "\n}" if b"//" in payload else " }"
    if shape is Shape.EXPRESSION:
        return [Edit(0, 0, f"({opening}"), Edit(end, end, f"{closing})()")]
    return [Edit(0, 0, opening), Edit(end, end, closing)]


def _answers(payload: bytes) -> bool:
    """Whether the payload is statements, of which one at the top answers: without it nothing would come back."""
    found = programs_of(payload, Shape.ASYNC_BODY, limit_bytes=len(payload) + 1)
    return not isinstance(found, Rejection) and any(
        kind_of(node) == "return_statement" for node in found[0].roots
    )


def _parses(payload: bytes, shape: Shape) -> bool:
    return not isinstance(programs_of(payload, shape, limit_bytes=len(payload) + 1), Rejection)
