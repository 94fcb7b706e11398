"""Bound functions: the function at the end of a chain, its ``this`` and its arguments (ECMA-262 §10.4.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.atoms import BOTTOM, Value
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.values import join
from evalward.guard.interpret.atom_order import objects_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalward.guard.domain.atoms import Atom
    from evalward.guard.interpret.dataflow import Dataflow


def unbound(
    dataflow: Dataflow, target: HeapObject, args: Sequence[Value], rest: Value
) -> tuple[Value, Value, Sequence[Value], Value]:
    """Return the function of a chain of bound functions, its ``this``, its arguments and those at unknown positions.

    A chain may have any length. A function that is bound in a loop has itself as its target: then its arguments may
    come first any number of times.
    """
    this: Value = BOTTOM
    seen: set[HeapObject] = set()
    while True:
        target.readers[dataflow.reader] = None
        target.called = True
        dataflow.steps += 1
        seen.add(target)
        function, bound = target.bound or (BOTTOM, (BOTTOM,))
        this, args = bound[0] or this, (*bound[1:], *args)
        inner = [atom for atom in objects_of(function) if atom.bound is not None]
        if not inner or (len(function) > 1 and not _binds_itself(target)):
            return function, this, args, rest
        if len(function) > 1 or inner[0] in seen:
            return _joined(dataflow, function, this, args, rest)
        target = inner[0]


def _joined(
    dataflow: Dataflow, function: Value, this: Value, args: Sequence[Value], rest: Value
) -> tuple[Value, Value, Sequence[Value], Value]:
    """Return what ends the chains, with the join of all that is bound on the way."""
    for value in args:
        rest = join(rest, value)
    chain = [atom for atom in objects_of(function) if atom.bound is not None]
    seen = set(chain)
    for each in chain:
        each.readers[dataflow.reader] = None
        target, bound = each.bound or (BOTTOM, (BOTTOM,))
        function |= target
        this |= bound[0]
        for value in bound[1:]:
            rest = join(rest, value)
        for atom in objects_of(target):
            if atom.bound is not None and atom not in seen:
                seen.add(atom)
                chain.append(atom)
    return frozenset(function - seen), this, (), rest


def with_targets(value: Value) -> list[Atom]:
    """Return the atoms of a value, and all that the bound functions among them are bound to."""
    found = list(value)
    seen = set(found)
    for atom in found:
        if isinstance(atom, HeapObject) and atom.bound is not None:
            found.extend(atom.bound[0] - seen)
            seen |= atom.bound[0]
    return found


def _binds_itself(target: HeapObject) -> bool:
    pending, seen = [target], {target}
    for current in pending:
        for atom in objects_of(current.bound[0]) if current.bound is not None else ():
            if atom is target:
                return True
            if atom not in seen:
                seen.add(atom)
                pending.append(atom)
    return False
