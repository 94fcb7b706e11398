"""Implicit calls: conversions, accessors and protocol methods of every object (guard.md §2).

A function of the host or of the language that is given ``{ toString() { this.run(42) }, run: process.exit }`` may
convert it to a string, read an option of it, iterate it, or print it, each with the object as ``this``. No
list of such functions would be complete, so each such method of each object runs once on that object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.atoms import BOTTOM, V_UNKNOWN, of
from evalward.guard.domain.heap import HeapObject, Outcome
from evalward.guard.domain.slots import PRIVATE_PREFIX, SYMBOL_PREFIX
from evalward.guard.domain.span import Span
from evalward.guard.interpret.atom_order import in_order

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evalward.guard.interpret.calls.calls import Calls
    from evalward.guard.interpret.run_state import RunState

_PROTOCOLS = frozenset(
    {
        "exec",
        "handleEvent",
        "join",
        "next",
        "resolve",
        "return",
        "then",
        "throw",
        "toISOString",
        "toJSON",
        "toLocaleString",
        "toString",
        "valueOf",
    }
)
_HANDLER = "on"
_SYMBOLS = SYMBOL_PREFIX
_PRIVATE = PRIVATE_PREFIX


class ImplicitCalls:
    """The methods that convert, read or step an object; ``_made`` are objects, and those that ran on them.

    ``_handed`` are the bound functions that were called because the host has them.
    """

    def __init__(self, state: RunState, calls: Calls) -> None:
        self._dataflow = state.dataflow
        self._store = state.store
        self._calls = calls
        self._made: set[tuple[HeapObject, HeapObject]] = set()
        self._handed: set[HeapObject] = set()

    def run(self) -> bool:
        """Run the conversion, accessor and iterator methods of each object; return whether there were any.

        What that makes or changes may call for another round: it is called until a round changes nothing.
        """
        dataflow, objects = self._dataflow, self._store.objects
        holders = {target for target in objects.values() if any(True for _ in _methods(target))}
        bound = [target for target in objects.values() if target.escaped and target.bound is not None]
        if not holders and not bound:
            return False
        found = [
            (owner, function)
            for owner in list(objects.values())
            if owner.kind not in {"function", "class"} or owner in holders
            for holder in _chain(owner)
            if holder in holders
            for function in _methods(holder)
        ]
        asked = dataflow.reader
        dataflow.reader = Outcome(0)  # no instruction uses the results of these calls
        for target in bound:  # what has got one calls it, with what is bound
            if target not in self._handed:
                self._handed.add(target)
                self._calls.call(of(target), V_UNKNOWN, (), Span.at(target.start), V_UNKNOWN)
        for owner, function in found:
            unit = function.unit
            if unit is None:
                if (owner, function) not in self._made:
                    self._made.add((owner, function))
                    self._calls.call(of(function), of(owner), (), Span.at(owner.start))
                continue
            if (owner, function) not in self._made:
                if unit.ran and (not unit.uses_this or owner in unit.receivers):
                    continue  # it did what it does on that
                self._made.add((owner, function))
            if unit.executed:
                dataflow.write(unit.this, of(owner))  # what it is given is known, and stays so
                continue
            had_run = unit.ran
            self._calls.call(of(function), of(owner), (), Span.at(owner.start))
            if unit.parameters:
                unit.ran = had_run  # what it does with arguments is still to be seen
        dataflow.reader = asked
        return bool(self._made or self._handed)


def _chain(owner: HeapObject) -> Iterator[HeapObject]:
    """Yield an object and the payload objects on its prototype chain."""
    pending, seen = [owner], {owner}
    while pending:
        current = pending.pop()
        yield current
        for parent in in_order(current.prototype):
            if isinstance(parent, HeapObject) and parent not in seen:
                seen.add(parent)
                pending.append(parent)


def _methods(holder: HeapObject) -> Iterator[HeapObject]:
    """Yield the payload functions of an object that run without a call in the text, bound ones among them."""
    values = [*holder.getters.values(), *holder.setters.values()]
    for name, value in holder.properties.items():
        if name in _PROTOCOLS or (name.startswith((_SYMBOLS, _HANDLER)) and not name.startswith(_PRIVATE)):
            values.append(value)
    for value in values:
        for atom in in_order(value or BOTTOM):
            if isinstance(atom, HeapObject) and (
                atom.bound is not None or (atom.unit is not None and not atom.unit.arrow)
            ):
                yield atom
