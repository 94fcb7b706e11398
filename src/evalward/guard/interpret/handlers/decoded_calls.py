"""Calls of methods whose names the payload decodes itself: which method it is cannot be known, what it may do can."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.builtins import function_prototype as functions
from evalward.guard.domain.call import Call
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.texts import part_of
from evalward.guard.domain.values import (
    BOTTOM,
    BUILT,
    STRING_UNKNOWNS,
    U0,
    U1,
    UNDEFINED,
    V_U1,
    Known,
    Value,
    join,
    of,
)
from evalward.guard.interpret.handlers.variables import Names

if TYPE_CHECKING:
    from collections.abc import Sequence


class DecodedCalls(Names):
    """Calls by decoded names."""

    def call_decoded(self, owner: Value, args: Sequence[Value], start: int, end: int) -> Value:
        """Call a method whose name the payload decodes: any callback may get, and the result hold, what is there.

        Of a function it may be `call` or `apply`.
        """
        inside = given = BOTTOM
        for atom in owner:
            if isinstance(atom, HeapObject):
                atom.readers[self.reader] = None
                inside = join(inside, atom.contents())
                self.resume(atom, args[0] if args else BOTTOM)
            elif type(atom) is Known and self.catalogue.get(atom.path).callable:
                method = Call("Function.prototype.call", of(atom), args, BOTTOM, start, end)
                functions.call(self, method)
                functions.apply(self, method)
        for value in args:
            given = join(given, value)
        callbacks: Value = BOTTOM
        for atom in given:
            if isinstance(atom, HeapObject):
                atom.readers[self.reader] = None
                held = of(atom) if atom.callable else atom.everything()
                callbacks = join(
                    callbacks, frozenset(a for a in held if isinstance(a, HeapObject) and a.callable)
                )
                self.use(frozenset(a for a in held if a is BUILT or a is U0), Flow.CALLBACK, start, end)
        passed = join(join(owner, inside), given - callbacks)
        made = self.call(callbacks, of(U1, UNDEFINED), (passed, passed), start, end, V_U1)
        texts = frozenset(atom for atom in owner if type(atom) is str or atom in STRING_UNKNOWNS)
        if texts:
            made = join(made, part_of(texts))
        array = self.allocate("array", start, "decoded")
        self.inexact(array)
        made = join(made, inside)
        self.put_element(array, join(made, given - callbacks))
        return join(made, of(array)) if made or given else BOTTOM
