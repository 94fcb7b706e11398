"""Optional chains: a link whose object may be undefined or null ends the chain with undefined (ECMA-262 §13.3.9)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evalward.guard.domain.atoms import NULL, UNDEFINED, V_UNDEFINED, Primitive
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.instructions import Op
from evalward.guard.domain.values import join

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evalward.guard.domain.atoms import Atom, Value
    from evalward.guard.domain.instructions import Instruction

LINKS: Final = (Op.GET, Op.CALL, Op.CALL_METHOD)
"""The operations that are links of a chain."""


def _may_be_nullish(atom: Atom) -> bool:
    if type(atom) is Primitive:
        return atom is UNDEFINED or atom is NULL
    return not (
        type(atom) is str or isinstance(atom, HeapObject)
    )  # an unknown text stands for its absence, too


class ShortCircuits:
    """The links of optional chains; ``values`` are the registers, ``optional`` those that such links write."""

    def __init__(self, values: Sequence[Value], optional: frozenset[int]) -> None:
        self._values = values
        self._optional = optional

    def around(self, handler: Callable[[Instruction], Value]) -> Callable[[Instruction], Value]:
        """Return a handler whose result is also undefined where the chain may end."""

        def link(instruction: Instruction) -> Value:
            made = handler(instruction)
            if instruction[1] not in self._optional:
                return made
            # What a method call reads is in no register: it may be the method that is missing.
            ends = instruction[0] is Op.CALL_METHOD or any(map(_may_be_nullish, self._values[instruction[2]]))
            return join(made, V_UNDEFINED) if ends else made

        return link
