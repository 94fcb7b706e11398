"""What a write asks of the value and of the object that gets it (guard.md §2, host objects and sinks)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.atoms import (
    ACTIVE_MARKUP,
    DECODED_STRING,
    PREFIXED_STRING,
    PRIMITIVE_UNKNOWNS,
    Known,
    Primitive,
    Value,
)
from evalward.guard.interpret.objects.intrinsics import OF_LANGUAGE
from evalward.guard.markup import is_active, is_script_scheme

if TYPE_CHECKING:
    from evalward.guard.domain.heap import HeapObject

_HIDDEN_TEXTS = frozenset({ACTIVE_MARKUP, DECODED_STRING, PREFIXED_STRING})


def may_be_prototype(value: Value) -> bool:
    """Whether a value may be an object, which `__proto__` takes."""
    return any(not isinstance(atom, (str, Primitive)) and atom not in PRIMITIVE_UNKNOWNS for atom in value)


def runs(value: Value) -> bool:
    """Whether a text runs as markup, as a URL or as its scheme, or is decoded by the payload."""
    return not value.isdisjoint(_HIDDEN_TEXTS) or any(
        type(atom) is str and (is_active(atom) or is_script_scheme(atom)) for atom in value
    )


def is_kept(target: HeapObject) -> bool:
    """Whether the host made an object, and keeps it: an instance of one of its classes, or a live list."""
    if target.kind == "array":
        return target.extensible or "item" in target.properties
    parents = (parent.path for parent in target.prototype if type(parent) is Known)
    return any(
        path.endswith(".prototype") and path.removesuffix(".prototype") not in OF_LANGUAGE for path in parents
    )
