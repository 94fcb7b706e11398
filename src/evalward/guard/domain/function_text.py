"""The source text of the payload's functions (ECMA-262 §20.2.3.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.atoms import DECODED_STRING, Value, of

_LONGEST = 512

if TYPE_CHECKING:
    from evalward.guard.domain.heap import HeapObject
    from evalward.guard.domain.instructions import Lowered


def function_text(lowered: Lowered, function: HeapObject) -> Value:
    """Return what ``toString`` of a function or class of the payload is, with its comments.

    It is known for a function expression or declaration. The text of a class, a method, a bound function or
    a long function may spell anything: it holds too much to be judged as a constant wherever it goes.
    """
    if function.kind != "function" or function.unit is None or function.bound is not None:
        return of(DECODED_STRING)
    unit = lowered.units[function.unit.index]
    if unit.method or unit.end - unit.start > _LONGEST:
        return of(DECODED_STRING)
    return of(lowered.source[unit.start : unit.end].decode())
