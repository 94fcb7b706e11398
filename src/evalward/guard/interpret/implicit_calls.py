"""Calls that no call in the text stands for: conversions, accessors, protocols, of every object there is (guard.md §2).

A function of the host or of the language that is given ``{ toString() { this.run(42) }, run: process.exit }`` may
convert it to a text, read an option of it, step it as an iterator, or print it, each with the object as ``this``. No
list of who does which would ever be whole, so each such method of each object runs once on that object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.heap import HeapObject, Outcome
from evalward.guard.domain.values import BOTTOM, of
from evalward.guard.interpret.atoms import in_order

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evalward.guard.interpret.interpreter import Interpreter

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
_SYMBOLS = "@@"
_PRIVATE = "@@#"
_MAX_CHAIN = 16


def call_implicitly(run: Interpreter) -> bool:
    """Run what converts, reads or steps each object, on that object; return whether there was anything to run.

    What that makes or changes may call for another round: it is called until a round changes nothing.
    """
    holders = {target for target in run.objects.values() if any(True for _ in _methods(target))}
    if not holders:
        return False
    found = [
        (owner, function)
        for owner in list(run.objects.values())
        if owner.kind not in {"function", "class"} or owner in holders
        for holder in _chain(owner)
        if holder in holders
        for function in _methods(holder)
    ]
    asked = run.reader
    run.reader = Outcome(0)  # nobody goes on with what these calls give
    for owner, function in found:
        unit = function.unit
        if unit is None:
            continue
        if (owner, function) not in run.implicit:
            if unit.ran and (not unit.uses_this or owner in unit.receivers):
                continue  # it did what it does on that
            run.implicit.add((owner, function))
        if unit.executed:
            run.write(unit.this, of(owner))  # what it is given is known, and stays so
            continue
        had_run = unit.ran
        run.call(of(function), of(owner), (), owner.start, owner.start)
        if unit.parameters:
            unit.ran = had_run  # what it does with arguments is still to be seen
    run.reader = asked
    return bool(run.implicit)


def _chain(owner: HeapObject) -> Iterator[HeapObject]:
    """Yield an object and those of the payload that it inherits from."""
    pending, seen = [owner], {owner}
    while pending and len(seen) <= _MAX_CHAIN:
        current = pending.pop()
        yield current
        for parent in in_order(current.prototype):
            if isinstance(parent, HeapObject) and parent not in seen:
                seen.add(parent)
                pending.append(parent)


def _methods(holder: HeapObject) -> Iterator[HeapObject]:
    """Yield the payload's own functions of an object that run without being called by name."""
    values = [*holder.getters.values(), *holder.setters.values()]
    for name, value in holder.properties.items():
        if name in _PROTOCOLS or (name.startswith((_SYMBOLS, _HANDLER)) and not name.startswith(_PRIVATE)):
            values.append(value)
    for value in values:
        for atom in in_order(value or BOTTOM):
            if isinstance(atom, HeapObject) and atom.unit is not None and not atom.unit.arrow:
                yield atom
