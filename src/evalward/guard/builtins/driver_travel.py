"""Functions that a driver sends to a page as text: their free names and their `this` are the page's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.atoms import V_GLOBAL, V_UNKNOWN, known, of
from evalward.guard.domain.instructions import Op

if TYPE_CHECKING:
    from evalward.guard.domain.atoms import Value
    from evalward.guard.domain.heap import HeapObject
    from evalward.guard.domain.scope import Reference
    from evalward.guard.domain.span import Span
    from evalward.guard.interpret.machine import Machine


def free_of_closure(machine: Machine, function: HeapObject, span: Span) -> None:
    """Bind the free names and `this` of a function to the page's: the page evaluates the function from its text."""
    machine.observe(function)
    unit, lowered = function.unit, machine.lowered
    if unit is None:
        return
    for reference in lowered.references:
        if reference.is_global or reference.owner is None:
            continue
        if lowered.is_within(reference.scope.unit, unit.index) and not lowered.is_within(
            reference.owner, unit.index
        ):
            machine.write(reference.register, _in_page(machine, reference, span))
    for inner in lowered.units:
        if inner.arrow and lowered.is_within(inner.index, unit.index):
            for instruction in inner.code:
                if instruction[0] == Op.THIS and not lowered.is_within(instruction[2], unit.index):
                    machine.write(lowered.units[instruction[2]].this, V_GLOBAL)


def _in_page(machine: Machine, reference: Reference, span: Span) -> Value:
    """Return what a free name may mean in the page: a global of every page, or one that a script put there."""
    member = machine.catalogue.globals.get(reference.name)
    if member is not None:
        return machine.materialize(member.result, span.start, member.label)
    return machine.get(of(known("globalThis")), reference.name, span) | V_UNKNOWN
