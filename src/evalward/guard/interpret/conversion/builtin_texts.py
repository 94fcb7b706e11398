"""The texts that built-in conversions make of members of an object, which may be the payload's (ECMA-262 §20.5.3.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from evalward.guard.domain.atoms import (
    ANY_NUMBER,
    ANY_STRING,
    BOTTOM,
    COMPOSED_CHARACTER,
    DECODED_STRING,
    V_ANY_STRING,
    Value,
    of,
)
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.slots import SYMBOL_TO_STRING_TAG

if TYPE_CHECKING:
    from collections.abc import Callable

    from evalward.guard.domain.span import Span
    from evalward.guard.interpret.conversion.concatenation import Concatenation
    from evalward.guard.interpret.held_texts import HeldTexts
    from evalward.guard.interpret.method_lookup import MethodLookup
    from evalward.guard.interpret.recursion import Recursion

    ToString: TypeAlias = Callable[[Value, Span], Value]

# Methods that the built-in conversions of arrays and dates call, and members that those of errors and all objects read.
_GIVE_TEXT = frozenset({"join", "toISOString"})
_IN_TEXT = frozenset({"message", "name", SYMBOL_TO_STRING_TAG})
_OF_PATTERNS = frozenset({"source", "flags"})
_ASKED = _GIVE_TEXT | _IN_TEXT | _OF_PATTERNS


class BuiltinTexts:
    """The texts of patterns, and of objects whose built-in conversion is not known."""

    def __init__(
        self,
        method_lookup: MethodLookup,
        held: HeldTexts,
        concatenation: Concatenation,
        machine: Recursion,
    ) -> None:
        self._method_lookup = method_lookup
        self._held = held
        self._concatenation = concatenation
        self._machine = machine

    def foreign(self, target: HeapObject, to_string: ToString, span: Span) -> Value:
        """Return an unknown text or number, and what the built-in methods ask the payload's own members for."""
        held: Value = BOTTOM
        defined = self._method_lookup.defined_of(target, _ASKED)
        for name in sorted(_GIVE_TEXT & defined):
            method = self._method_lookup.get_method(target, name)
            given = self._machine.call(method, of(target), (), span)
            held |= frozenset(atom for atom in given if not isinstance(atom, HeapObject))
        if _OF_PATTERNS & defined:
            held |= self.of_pattern(target, to_string, span)
        inside: Value = BOTTOM
        for name in sorted((_IN_TEXT | _OF_PATTERNS) & defined):
            inside |= frozenset(a for a in self._method_lookup.get_method(target, name) if type(a) is str)
        if inside:
            telling = self._held.telling((inside,))
            held |= telling | of(DECODED_STRING) if telling else of(COMPOSED_CHARACTER)
        return held | of(ANY_STRING, ANY_NUMBER)

    def of_pattern(self, target: HeapObject, to_string: ToString, span: Span) -> Value:
        """Return the source and the flags of a regular expression, as its ``toString`` reads them."""
        source, flags = (self._method_lookup.get_method(target, name) for name in ("source", "flags"))
        pieces = (
            of("/"),
            to_string(source, span) or V_ANY_STRING,
            of("/"),
            to_string(flags, span) or V_ANY_STRING,
        )
        return self._concatenation.concatenated(pieces)
