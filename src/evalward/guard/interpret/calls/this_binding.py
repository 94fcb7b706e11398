"""OrdinaryCallBindThis: the value of ``this`` in a sloppy function (ECMA-262 §10.2.1.2)."""

from __future__ import annotations

from evalward.guard.domain.atoms import (
    NULL,
    PRIMITIVE_UNKNOWNS,
    UNDEFINED,
    UNKNOWN,
    UNKNOWN_PLAIN,
    V_GLOBAL,
    Primitive,
    Value,
    of,
)


def ordinary_call_bind_this(this: Value, *, strict: bool) -> Value:
    """Return ``this`` of a sloppy function: the global object for none, a wrapper for a primitive.

    In the profile ``strict``, an unknown value may be undefined.
    """
    if not this or UNDEFINED in this or NULL in this or (strict and UNKNOWN in this):
        this = frozenset(atom for atom in this if atom is not UNDEFINED and atom is not NULL) | V_GLOBAL
    if any(type(atom) is str or type(atom) is Primitive or atom in PRIMITIVE_UNKNOWNS for atom in this):
        return this | of(UNKNOWN_PLAIN)  # a wrapper
    return this
