"""Elements whose name comes from outside: any of them may be a script, which runs once it gets a text or a source.

A payload that only makes such an element and puts it somewhere gives it neither. It may use the members of a closed
list: with any other member, and with every computed one, the element counts as a script.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evalward.guard.domain.instructions import Op

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evalward.guard.domain.heap import Activation

UNNAMED_ELEMENT: Final = "an element is made whose name cannot be resolved"
_PLACING: Final = frozenset(
    {
        *("document", "body", "head", "documentElement", "createElement", "appendChild", "insertBefore"),
        *("querySelector", "getElementById", "parentNode", "parentElement", "removeChild", "remove"),
        *("id", "className", "hidden"),
    }
)
_MEMBERS: Final = frozenset({Op.GET, Op.SET, Op.CALL_METHOD})
_OTHERS: Final = frozenset({Op.LOAD, Op.STORE, Op.RETURN, Op.FUNCTION, Op.JOIN, Op.COMPLETE})


def only_placed(units: Iterable[Activation]) -> bool:
    """Whether code does nothing with elements but make them and put them somewhere."""
    return all(
        (instruction[3] in _PLACING if instruction[0] in _MEMBERS else instruction[0] in _OTHERS)
        for unit in units
        for instruction in unit.code
    )
