"""Calls of methods whose names the payload decodes itself: which method it is cannot be known, what it may do can."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.resolver.heap import HeapObject
from evalward.guard.resolver.judgement import Flow
from evalward.guard.resolver.operations.names import Names
from evalward.guard.resolver.texts import part_of
from evalward.guard.resolver.values import BOTTOM, BUILT, STRING_UNKNOWNS, U0, V_U1, Value, join, of

if TYPE_CHECKING:
    from collections.abc import Sequence


class DecodedCalls(Names):
    """Calls by decoded names."""

    def call_decoded(self, owner: Value, args: Sequence[Value], start: int, end: int) -> Value:
        """Call a method whose name the payload decodes: any callback may get, and the result hold, what is there."""
        inside, given = owner, BOTTOM
        for atom in owner:
            if isinstance(atom, HeapObject):
                atom.readers[self.reader] = None
                inside = join(inside, atom.contents())
        for value in args:
            given = join(given, value)
        functions: Value = BOTTOM
        for atom in given:
            if isinstance(atom, HeapObject):
                atom.readers[self.reader] = None
                held = of(atom) if atom.callable else atom.everything()
                functions = join(
                    functions, frozenset(a for a in held if isinstance(a, HeapObject) and a.callable)
                )
                self.use(frozenset(a for a in held if a is BUILT or a is U0), Flow.CALLBACK, start, end)
        passed = join(inside, given - functions)
        made = self.call(functions, V_U1, (passed, passed), start, end, V_U1)
        texts = frozenset(atom for atom in owner if type(atom) is str or atom in STRING_UNKNOWNS)
        if texts:
            made = join(made, part_of(texts))
        array = self.allocate("array", start, "decoded")
        self.inexact(array)
        self.put_element(array, join(made, given - functions))
        return join(made, of(array)) if made or given else BOTTOM
