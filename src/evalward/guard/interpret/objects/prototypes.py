"""GetPrototypeOf: the prototypes of an object as a value (ECMA-262 §10.1.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.atoms import (
    BOTTOM,
    NULL,
    STRING_UNKNOWNS,
    UNKNOWN,
    Known,
    Primitive,
    Value,
    known,
    of,
)
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.slots import SYMBOL_PREFIX
from evalward.guard.interpret.objects.intrinsics import (
    ELEMENT_PROTOTYPE,
    PRIMITIVE_PROTOTYPES,
    PROTOTYPE_OF_HOST,
    PROTOTYPES,
    UNKNOWN_PRIMITIVE_PROTOTYPES,
)

if TYPE_CHECKING:
    from evalward.guard.domain.atoms import Atom
    from evalward.guard.interpret.objects.denied_reads import DeniedReads
    from evalward.guard.interpret.run_state import RunState


class Prototypes:
    """Prototypes of objects, of the payload and built-in ones."""

    def __init__(self, state: RunState, denied_reads: DeniedReads) -> None:
        self._dataflow = state.dataflow
        self._store = state.store
        self._catalogue = state.surroundings.catalogue
        self._denied_reads = denied_reads

    def prototype_object(self, function: HeapObject) -> HeapObject:
        """Return the ``prototype`` object of a payload function."""
        made = self._store.allocate("object", function.start, "prototype")
        made.owners |= {function}
        if function.unit is not None and function.unit.generator:
            made.prototype = of(known("Iterator.prototype"))
        elif "constructor" not in made.properties:
            made.properties["constructor"] = of(function)
            made.holds(BOTTOM, of(function), named=True)
        return made

    def inherited_names(self, target: HeapObject) -> list[str]:
        """Return the names of an object's properties and accessors, and of those of its prototypes."""
        names: dict[str, None] = {}
        pending, seen = [target], {target}
        for current in pending:
            self._dataflow.steps += 1
            current.readers[self._dataflow.reader] = None
            names.update(dict.fromkeys((*current.properties, *current.getters)))
            for parent in current.prototype:
                if isinstance(parent, HeapObject) and parent not in seen:
                    seen.add(parent)
                    pending.append(parent)
        return [name for name in names if name[:2] != SYMBOL_PREFIX]

    def get_prototype_of(self, atom: Atom) -> Value:
        """Return ``Object.getPrototypeOf`` of an atom (ECMA-262 §10.1.1)."""
        if isinstance(atom, HeapObject):
            atom.readers[self._dataflow.reader] = None
            return atom.prototype or of(known(PROTOTYPES.get(atom.kind, "Object.prototype")))
        if type(atom) is Known:
            of_driver = self._catalogue.get(atom.path).unresolved == "playwright"
            if (
                of_driver
                or atom.path.startswith(("playwright.", "electron"))
                or self._denied_reads.is_denied(atom)
            ):
                return of(atom)  # which has its methods
            if atom.path in {"Element", "document"}:
                return of(ELEMENT_PROTOTYPE)
            if atom.path == "Function":  # the constructors of other kinds of functions inherit from it
                return of(atom, known("Function.prototype"))
            entry = self._catalogue.get(atom.path)
            return of(known(entry.prototype)) if entry.prototype else of(NULL)
        if type(atom) is str or atom in STRING_UNKNOWNS:
            return of(known("String.prototype"))
        if type(atom) is Primitive:
            return of(known(PRIMITIVE_PROTOTYPES.get(atom.type, "Object.prototype")))
        if atom in UNKNOWN_PRIMITIVE_PROTOTYPES:
            return of(known(UNKNOWN_PRIMITIVE_PROTOTYPES[atom]))
        return of(PROTOTYPE_OF_HOST, UNKNOWN)
