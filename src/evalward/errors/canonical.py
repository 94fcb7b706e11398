"""Canonical JSON: the form that Evalward sends, stores and hashes.

Keys sorted, separators compact, text as UTF-8 rather than escapes, no NaN, no infinity. Equal data
always gives equal bytes, so a digest or a comparison of envelopes needs no parser.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TypeAlias

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"

_MAX_NESTING = 32


_ENCODER = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, check_circular=False
)


class NotJsonError(ValueError):
    """A value that JSON cannot carry without changing it.

    ``path`` leads from the outermost value to the offending one; the message never repeats a value.
    """

    def __init__(self, problem: str, path: str = "") -> None:
        super().__init__(f"{path or 'the value'}: {problem}")
        self.problem = problem
        self.path = path

    def inside(self, step: str) -> NotJsonError:
        """Return the same error with a path that begins at the container, which holds the value at ``step``."""
        return NotJsonError(self.problem, step + self.path)


def to_json(value: object, nesting: int = 0) -> JsonValue:
    """Return ``value`` as fresh plain JSON data; raise NotJsonError for a value that JSON would change or lose.

    Tuples become lists and string enums their value. Keys must be strings, since ``json.dumps`` would turn
    others into strings silently. ``nesting`` is how many containers are around ``value``.
    """
    kind = type(value)
    # Most values have one of these types; the checks below are for the others.
    if kind is bool or value is None or kind is int or (kind is str and value.isascii()):  # type: ignore[attr-defined]  # it is a str
        return value  # type: ignore[return-value]  # one of the four
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        if isfinite(value):
            return value
        raise NotJsonError("a number that is not finite is not JSON")
    if nesting >= _MAX_NESTING:
        raise NotJsonError(f"nested deeper than {_MAX_NESTING} levels")
    if isinstance(value, Mapping):
        return to_json_object(value, nesting + 1)
    if isinstance(value, (list, tuple)):
        return _array(value, nesting + 1)
    raise NotJsonError(f"{type(value).__name__} is not JSON-serialisable")


def to_json_object(value: Mapping[str, object], nesting: int = 1) -> dict[str, JsonValue]:
    """Return a mapping as ``to_json`` does; ``nesting`` counts the mapping itself."""
    plain: dict[str, JsonValue] = {}
    for key, item in value.items():
        if not isinstance(key, str):
            raise NotJsonError(f"a key of type {type(key).__name__} is not JSON-serialisable")
        try:
            plain[_text(key)] = to_json(item, nesting)
        except NotJsonError as error:
            raise error.inside(f".{key!a}") from None
    return plain


def _array(value: Sequence[object], nesting: int) -> JsonValue:
    plain: list[JsonValue] = []
    for index, item in enumerate(value):
        try:
            plain.append(to_json(item, nesting))
        except NotJsonError as error:
            raise error.inside(f"[{index}]") from None
    return plain


def _text(text: str) -> str:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise NotJsonError("text with a lone surrogate is not UTF-8") from None
    return text if type(text) is str else str.__str__(text)


def canonical_text(plain: JsonValue) -> str:
    """Return the canonical JSON text of the result of ``to_json``."""
    return _ENCODER.encode(plain)


def canonical_json(value: object) -> bytes:
    """Return the canonical JSON bytes (UTF-8) of ``value``; raise NotJsonError if JSON cannot represent it."""
    return canonical_text(to_json(value)).encode()
