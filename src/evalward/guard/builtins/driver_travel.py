"""Functions that a driver sends to a page as text: their free names and their `this` are the page's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.constructs import nested_evaluation
from evalward.guard.constructs.rank import Rank
from evalward.guard.domain.atoms import V_GLOBAL, V_UNDEFINED, V_UNKNOWN, known, of
from evalward.guard.domain.instructions import Op
from evalward.guard.domain.slots import TRAVELS

if TYPE_CHECKING:
    from evalward.guard.domain.atoms import Value
    from evalward.guard.domain.heap import Activation, HeapObject
    from evalward.guard.domain.scope import Reference, UnitIndex
    from evalward.guard.domain.span import Span
    from evalward.guard.interpret.machine import Machine


def free_of_closure(machine: Machine, function: HeapObject, span: Span) -> None:
    """Bind the free names and `this` of a function to the page's: the page evaluates the function from its text."""
    machine.observe(function)
    root, lowered = function.unit, machine.lowered
    if root is None:
        return
    inside = lowered.units_within(root.index)
    for reference in (each for unit in inside for each in lowered.referring.get(unit, ())):
        if reference.name == "arguments" and reference.is_global and _is_outside(machine, reference, root):
            note = "`arguments` is what the page says, as those of a function around do not travel"
            machine.report(nested_evaluation.LABEL, Rank.USED, span, None, note)
        if reference.is_global and reference.name in machine.bound_names:
            machine.patches.put(TRAVELS, V_UNDEFINED)
            machine.patches.put(f"{TRAVELS}{int(root.index)}", V_UNDEFINED)
        elif not (
            reference.is_global or reference.owner is None or lowered.is_within(reference.owner, root.index)
        ):
            machine.write(reference.register, _in_page(machine, reference, span))
    outer = lowered.units[root.index].outer
    around = outer is not None and lowered.units[outer].strict
    for index in inside:
        unit = machine.activations[index]
        if unit.arrow:
            _free_of_receiver(machine, unit, root)
        elif around and unit.strict:
            _free_of_strict_mode(machine, unit)


def _is_outside(machine: Machine, reference: Reference, root: Activation) -> bool:
    """Whether ``arguments`` in a function that travels is that of one around it: in arrow functions all the way."""
    units = machine.lowered.units
    inner: UnitIndex | None = reference.scope.unit
    while inner is not None and units[inner].arrow:
        if inner == root.index:
            return True
        inner = units[inner].outer
    return False


def _free_of_receiver(machine: Machine, arrow: Activation, root: Activation) -> None:
    """Let `this` of an arrow function be the window where it is that of a function which does not travel."""
    for instruction in arrow.code:
        if instruction[0] is Op.THIS and not machine.lowered.is_within(instruction[2], root.index):
            machine.write(machine.activations[instruction[2]].this, V_GLOBAL)


def _free_of_strict_mode(machine: Machine, unit: Activation) -> None:
    """Take a function for one in sloppy code: the strict mode of the text around it does not travel."""
    unit.strict = False
    if unit.ran and unit.uses_this and not unit.method:
        machine.write(unit.this, V_GLOBAL)


def _in_page(machine: Machine, reference: Reference, span: Span) -> Value:
    """Return what a free name may mean in the page: a global of every page, or one that a script put there."""
    member = machine.catalogue.globals.get(reference.name)
    if member is not None:
        return machine.materialize(member.result, span.start, member.label)
    return machine.get(of(known("globalThis")), reference.name, span) | V_UNKNOWN
