"""ToPrimitive of built-in objects and those of the host (ECMA-262 §7.1.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.atoms import (
    BOTTOM,
    TAINTED_STRING,
    V_ANY_STRING,
    Known,
    Value,
    known,
    of,
)
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.slots import (
    SYMBOL_TO_PRIMITIVE,
)
from evalward.guard.domain.values import join

if TYPE_CHECKING:
    from evalward.guard.domain.span import Span
    from evalward.guard.interpret.judgement import Judgement
    from evalward.guard.interpret.recursion import Recursion
    from evalward.guard.interpret.run_state import RunState


class HostPrimitives:
    """Primitives that catalogued objects convert to."""

    def __init__(self, state: RunState, judgement: Judgement, machine: Recursion) -> None:
        self._dataflow = state.dataflow
        self._store = state.store
        self._patches = state.store.patches
        self._catalogue = state.surroundings.catalogue
        self._judgement = judgement
        self._machine = machine

    def known_primitive(self, atom: Known, span: Span) -> Value:
        """Return ToPrimitive of an object of the host, with what the payload put on it (ECMA-262 §7.1.1)."""
        if atom.label is not None:
            self._judgement.use(of(atom), Flow.COERCE, span)
        result = self._builtin_text(atom, span)
        self._patches.readers[self._dataflow.reader] = None
        if f"{atom.path}.@@toStringTag" in self._patches.properties:
            result = V_ANY_STRING
        for name in (SYMBOL_TO_PRIMITIVE, "toString", "valueOf"):
            method = self._patches.properties.get(f"{atom.path}.{name}", BOTTOM)
            method |= self._store.defined_on(atom, name)
            made = self._machine.call(method, of(atom), (), span) if method else BOTTOM
            result = join(result, frozenset(each for each in made if not isinstance(each, HeapObject)))
        return result

    def _builtin_text(self, atom: Known, span: Span) -> Value:
        if self._catalogue.get(atom.path).callable and ".@@" not in atom.path:
            return of(f"function {atom.path.rpartition('.')[2]}() {{ [native code] }}")
        if atom.path == "DOMTokenList":
            return self._machine.get(of(known("Element")), "className", span) | of(TAINTED_STRING)
        if atom.path in {"Math", "JSON", "Reflect", "Atomics"}:
            return of(f"[object {atom.path}]")
        return V_ANY_STRING
