"""The one JSON form that Evalward sends, stores and hashes.

Keys sorted, separators compact, text as UTF-8 rather than escapes, no NaN, no infinity. Equal data
always gives equal bytes, so a digest or a comparison of envelopes needs no parser.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum
from math import isfinite
from typing import TypeAlias

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"

_MAX_NESTING = 32


class NotJsonError(ValueError):
    """A value that JSON cannot carry without changing it; the message names the path, never the value."""


def to_json(value: object, path: str = "$", *, nesting: int = 0) -> JsonValue:
    """Return ``value`` as fresh plain JSON data; raise NotJsonError for what JSON would change or lose.

    Tuples become lists and string or integer enums their value. Keys must be strings, since
    ``json.dumps`` would turn others into strings silently.
    """
    if isinstance(value, Enum):
        value = value.value
    if value is None or isinstance(value, (bool, int, float, str)):
        return _scalar(value, path)
    if nesting >= _MAX_NESTING:
        raise NotJsonError(f"{path}: nested deeper than {_MAX_NESTING} levels")
    if isinstance(value, Mapping):
        return {
            _key(key, path): to_json(item, f"{path}.{key}", nesting=nesting + 1)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [to_json(item, f"{path}[{i}]", nesting=nesting + 1) for i, item in enumerate(value)]
    raise NotJsonError(f"{path}: {type(value).__name__} is not JSON-serialisable")


def _scalar(value: float | str | None, path: str) -> JsonValue:
    if isinstance(value, str):
        return _text(value, path)
    if isinstance(value, float) and not isfinite(value):
        raise NotJsonError(f"{path}: a number that is not finite is not JSON")
    return value


def _key(key: object, path: str) -> str:
    if not isinstance(key, str):
        raise NotJsonError(f"{path}: a key of type {type(key).__name__} is not JSON-serialisable")
    return _text(key, path)


def _text(text: str, path: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise NotJsonError(f"{path}: text with a lone surrogate is not UTF-8") from None
    return str(text)


def canonical_text(value: object) -> str:
    """Return the canonical JSON text of ``value``; raise NotJsonError for what JSON cannot carry."""
    return json.dumps(
        to_json(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def canonical_json(value: object) -> bytes:
    """Return the canonical JSON bytes (UTF-8) of ``value``; raise NotJsonError for what JSON cannot carry."""
    return canonical_text(value).encode()
