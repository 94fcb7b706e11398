"""Code that runs only where ``x instanceof C`` holds: ``x.constructor`` makes no functions there (guard.md §2).

As with listed keys, that holds only while ``x`` is the value that was tested, so the stores of the whole payload are
searched when all of it is lowered.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evalward.guard.domain.instructions import Op
from evalward.guard.domain.span import Span

if TYPE_CHECKING:
    from tree_sitter import Node

    from evalward.guard.domain.scope import Reference
    from evalward.guard.lower.drafts import UnitDraft
    from evalward.guard.lower.stores import Stores


@dataclass(slots=True, eq=False)
class Instance:
    """A stretch of a unit's code in which ``name`` holds an instance of what register ``tested`` holds.

    ``reads`` are the reads of ``constructor`` in it: where they stand in the code, and of which name.
    """

    name: Reference
    tested: int
    unit: UnitDraft
    first: int
    last: int = 0
    reads: list[tuple[int, Reference]] = field(default_factory=list)


def instances_of(condition: Node, unit: UnitDraft, first: int) -> list[Instance]:
    """Return what holds where a condition does, whose code begins at ``first`` and is the last of the unit."""
    tests: set[tuple[int, int]] = set()
    pending = [condition]
    while pending:
        node = pending.pop()
        operator = node.child_by_field_name("operator") if node.type == "binary_expression" else None
        if node.type == "parenthesized_expression" or (operator is not None and operator.type == "&&"):
            pending.extend(node.named_children)
        elif operator is not None and operator.type == "instanceof":
            tests.add(Span(node.start_byte, node.end_byte))
    if not tests:
        return []
    # From where the name is loaded: it may be written between that and the end of the condition.
    loads = {code[1]: (code[2], at) for at, code in enumerate(unit.code[first:], first) if code[0] is Op.LOAD}
    return [
        Instance(loads[code[3]][0], code[4], unit, loads[code[3]][1])
        for code in unit.code[first:]
        if code[0] is Op.BINARY and code[5] in tests and code[2] == "instanceof" and code[3] in loads
    ]


def bind_instances(stores: Stores, instances: list[Instance]) -> None:
    """Record for reads of ``constructor`` the classes of the object that they read."""
    for instance in instances:
        name, unit = instance.name, instance.unit
        if name.register < 0 or name.is_global or name.owner != unit.index:
            continue
        if name.register in stores.aliased:
            continue
        written = stores.of(name.register)
        if any(writer is not unit or instance.first <= index < instance.last for writer, index in written):
            continue
        for index, read in instance.reads:
            if read.register == name.register:
                operation, register, owner, key, _, span = unit.code[index]
                unit.code[index] = (operation, register, owner, key, instance.tested, span)
