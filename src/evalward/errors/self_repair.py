"""The self-repair fields of seed 003: what an agent reads to repair a request, one type each and no prose.

``field`` is an RFC 6901 JSON Pointer into the request, or into the arguments of a tool call (into the item, for an item
of a batch or a stream). The whole request is the empty pointer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Final

from evalward.errors.canonical import JsonValue, to_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_POINTER: Final = re.compile(r"(/([^~/]|~[01])*)*")
_LIMIT: Final = re.compile(r"[a-z][a-z0-9_]*")
_JSON_TYPES: Final = frozenset({"null", "boolean", "integer", "number", "string", "array", "object"})


def pointer(*steps: str | int) -> str:
    """Return the JSON Pointer that ``steps`` lead along; no steps are the whole document, the empty text."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)


@dataclass(frozen=True, slots=True)
class Range:
    """The smallest and the largest number that a field takes, both inclusive; None: no bound on that side."""

    minimum: float | None = None
    maximum: float | None = None

    def __post_init__(self) -> None:
        """Raise ValueError for a range that has no bound, is empty, or is not finite."""
        bounds = [bound for bound in (self.minimum, self.maximum) if bound is not None]
        if not bounds or not all(map(isfinite, bounds)) or sorted(bounds) != bounds:
            raise ValueError(f"no range: {self.minimum} to {self.maximum}")

    def as_json(self) -> dict[str, JsonValue]:
        """Return the bounds that are set."""
        bounds = {"minimum": self.minimum, "maximum": self.maximum}
        return {name: bound for name, bound in bounds.items() if bound is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """The self-repair fields of one error; a field that does not apply stays None and out of the envelope.

    ``field`` points to the invalid part. ``allowed`` are the values (or, for an unknown member, the names) that it
    may have, ``pattern`` is the regular expression that it must match, ``types`` are the JSON types that it may have,
    ``range`` the numbers. ``required`` are JSON Pointers to what must be supplied; for EVAL_TARGET_DENIED, the flag
    of the operator. ``limit`` is the name of the exceeded limit, ``limit_value`` its value and ``actual`` the value
    of the request.
    """

    field: str | None = None
    allowed: Sequence[str] | None = None
    required: Sequence[str] | None = None
    range: Range | None = None
    limit: str | None = None
    limit_value: int | None = None
    actual: int | None = None
    pattern: str | None = None
    types: Sequence[str] | None = None

    def __post_init__(self) -> None:
        """Raise ValueError for a field of the wrong type: a caller could not rely on it."""
        if self.field is not None and _POINTER.fullmatch(self.field) is None:
            raise ValueError(f"{self.field!a} is no JSON Pointer")
        for name, texts in (("allowed", self.allowed), ("required", self.required), ("types", self.types)):
            if texts is not None and not _are_texts(texts):
                raise ValueError(f"{name} is a list of texts, not {texts!a}")
        if not _JSON_TYPES.issuperset(self.types or ()):
            raise ValueError(f"{self.types!a} are not the names of JSON types")
        if (self.limit is None) is not (self.limit_value is None):
            raise ValueError("a limit has a name and a value")
        if self.limit is not None and _LIMIT.fullmatch(self.limit) is None:
            raise ValueError(f"{self.limit!a} is no name of a limit")

    @classmethod
    def missing(cls, *fields: str, allowed: Sequence[str] | None = None) -> Repair:
        """Return the repair for ``fields`` (JSON Pointers, at least one) that the request lacks."""
        return cls(field=fields[0], required=fields, allowed=allowed)

    @classmethod
    def passed(cls, limit: str, value: int, *, field: str | None = None, actual: int | None = None) -> Repair:
        """Return the repair for a request that exceeds a ``limit`` of ``value``."""
        return cls(field=field, limit=limit, limit_value=value, actual=actual)

    def as_json(self) -> dict[str, JsonValue]:
        """Return the fields that apply, as plain JSON data."""
        fields = {
            "field": self.field,
            "allowed": self.allowed,
            "required": self.required,
            "range": None if self.range is None else self.range.as_json(),
            "limit": self.limit,
            "limit_value": self.limit_value,
            "actual": self.actual,
            "pattern": self.pattern,
            "types": self.types,
        }
        return {name: to_json(value) for name, value in fields.items() if value is not None}


def _are_texts(texts: Iterable[str]) -> bool:
    return isinstance(texts, (list, tuple)) and all(isinstance(text, str) for text in texts)
