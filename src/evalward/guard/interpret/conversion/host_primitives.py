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
    SYMBOL_PREFIX,
    SYMBOL_TO_PRIMITIVE,
)
from evalward.guard.domain.values import join

if TYPE_CHECKING:
    from evalward.guard.domain.span import Span
    from evalward.guard.interpret.judgement import Judgement
    from evalward.guard.interpret.recursion import Recursion
    from evalward.guard.interpret.run_state import RunState

# Members that hold the function of another name (ECMA-262 §B.2.2.15, §B.2.2.16, §B.2.3.3, §24.2.4.10).
_SAME_FUNCTION = {
    "String.prototype.trimLeft": "trimStart",
    "String.prototype.trimRight": "trimEnd",
    "Date.prototype.toGMTString": "toUTCString",
    "Set.prototype.keys": "values",
}


class HostPrimitives:
    """Primitives that catalogued objects convert to."""

    def __init__(self, state: RunState, judgement: Judgement, machine: Recursion) -> None:
        self._dataflow = state.dataflow
        self._exposure = state.exposure
        self._patches = state.store.patches
        self._catalogue = state.surroundings.catalogue
        self._in_sandbox = state.surroundings.alone
        self._judgement = judgement
        self._machine = machine

    def known_primitive(self, atom: Known, span: Span) -> Value:
        """Return ToPrimitive of an object of the host, with what the payload put on it (ECMA-262 §7.1.1)."""
        if atom.label is not None:
            self._judgement.use(of(atom), Flow.COERCE, span)
        result = self._builtin_text(atom, span)
        if self._patches.has(f"{atom.path}.@@toStringTag"):
            result = V_ANY_STRING
        for name in (SYMBOL_TO_PRIMITIVE, "toString", "valueOf"):
            method = self._patches.read(f"{atom.path}.{name}")
            method |= self._exposure.defined_on(atom, name)
            made = self._machine.call(method, of(atom), (), span) if method else BOTTOM
            result = join(result, frozenset(each for each in made if not isinstance(each, HeapObject)))
        return result

    def _builtin_text(self, atom: Known, span: Span) -> Value:
        if self._catalogue.get(atom.path).callable:
            return self._native_text(atom.path)
        if atom.path == "DOMTokenList":
            return self._machine.get(of(known("Element")), "className", span) | of(TAINTED_STRING)
        if atom.path in {"Math", "JSON", "Reflect", "Atomics"}:
            return of(f"[object {atom.path}]")
        return V_ANY_STRING

    def _native_text(self, path: str) -> Value:
        """Return the text of a function that engines bring along (NativeFunction, ECMA-262 §20.2.3.5).

        V8 writes it in one line, other engines in three. Functions of a host may be written in JavaScript, and have
        their source; a path that stands for several functions has several texts.
        """
        if path not in self._catalogue.functions_of_language:
            return V_ANY_STRING
        name = _SAME_FUNCTION.get(path, path).rpartition(".")[2]
        begin = f"function {f'[Symbol.{name[2:]}]' if name.startswith(SYMBOL_PREFIX) else name}() {{"
        in_lines = f"{begin}\n    [native code]\n}}"
        return of(in_lines) if self._in_sandbox else of(f"{begin} [native code] }}", in_lines)
