"""Items of an application's menu that a payload clicks without asking what they are: by their place, or all of them.

What an item does is not known where the payload runs. One that is found by its label or its id is the one that the
payload means. The first item of the first menu, or every item, may be `quit`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evalward.guard.domain.instructions import Op
from evalward.guard.syntax.literals import is_index

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evalward.guard.domain.heap import Activation
    from evalward.guard.domain.instructions import Instruction
    from evalward.guard.domain.span import Span

_ASKED: Final = frozenset(
    {
        "label",
        "sublabel",
        "id",
        "role",
        "accelerator",
        "commandId",
        "toolTip",
        "getMenuItemById",
        "userAccelerator",
    }
)
_PLACES: Final = frozenset({"at", "pop", "shift"})
_MEMBERS: Final = frozenset({Op.GET, Op.CALL_METHOD})
_MAX_STEPS: Final = 16


def chosen_blindly(units: Iterable[Activation], span: Span) -> bool:
    """Whether the item that is clicked at a span is chosen by its place, or no item is asked what it is."""
    code = [instruction for unit in units for instruction in unit.code]
    names = {part for instruction in code for part in instruction if type(part) is str}
    if names.isdisjoint(_ASKED):
        return True
    made = {instruction[1]: instruction for instruction in code if instruction[1] >= 0}
    stored: dict[int, list[int]] = {}
    for instruction in code:
        if instruction[0] is Op.STORE:
            stored.setdefault(instruction[2].register, []).append(instruction[3])
    clicked = [each[2] for each in code if each[0] is Op.CALL_METHOD and each[5] == span]
    return any(_is_by_place(register, made, stored) for register in clicked)


def _is_by_place(register: int, made: dict[int, Instruction], stored: dict[int, list[int]]) -> bool:
    pending, steps = [register], 0
    while pending and steps < _MAX_STEPS:
        steps += 1
        instruction = made.get(pending.pop())
        if instruction is None:
            continue
        operation, _, first, second, _, _ = instruction
        if operation is Op.LOAD:
            pending.extend(stored.get(first.register, ()))
        elif operation is Op.JOIN:
            pending.extend(first)
        elif operation in _MEMBERS and type(second) is str and (is_index(second) or second in _PLACES):
            return True
        elif operation is Op.ITERATE and type(second) is int:
            return True  # `const [first] = menu.items`
    return bool(pending)
