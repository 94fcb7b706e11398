"""Coercions: ToPrimitive, ToString and ToNumber (ECMA-262 §7.1)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from evalward.guard.domain.atoms import (
    ANY_NUMBER,
    ANY_STRING,
    BOTTOM,
    DECODED_STRING,
    HOST_HELD_TEXT,
    NULL,
    PRIMITIVE_UNKNOWNS,
    SCHEME_MARKS,
    STRING_UNKNOWNS,
    TAINTED_DATA,
    TAINTED_STRING,
    UNDEFINED,
    UNKNOWN_NESTED_DATA,
    V_ANY_NUMBER,
    V_ANY_STRING,
    Atom,
    Host,
    Known,
    Primitive,
    Unknown,
    Value,
    number,
    of,
)
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.function_text import function_text
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.limit import AnalysisLimitError
from evalward.guard.domain.slots import (
    ANY_OWN_SYMBOL,
    PRIMITIVE_VALUE,
    REGISTERED_PREFIX,
    SYMBOL_TO_PRIMITIVE,
    SYMBOL_TO_STRING_TAG,
)
from evalward.guard.domain.texts import unresolved_text
from evalward.guard.domain.values import join
from evalward.guard.interpret.atom_order import objects_of
from evalward.guard.interpret.conversion.builtin_texts import BuiltinTexts
from evalward.guard.syntax import literals

if TYPE_CHECKING:
    from evalward.guard.domain.heap import Reader
    from evalward.guard.domain.span import Span
    from evalward.guard.interpret.conversion.concatenation import Concatenation
    from evalward.guard.interpret.conversion.host_primitives import HostPrimitives
    from evalward.guard.interpret.held_texts import HeldTexts
    from evalward.guard.interpret.judgement import Judgement
    from evalward.guard.interpret.method_lookup import MethodLookup
    from evalward.guard.interpret.recursion import Recursion
    from evalward.guard.interpret.run_state import RunState

_MAX_NESTING = 24
_COMMA = of(",")
_LETTERS = re.compile(r"\w")
# Whose methods convert the objects of a kind.
_PROTOTYPES = {
    "array": "Array.prototype",
    "class": "Function.prototype",
    "function": "Function.prototype",
    "generator": "Iterator.prototype",
    "map": "Map.prototype",
    "promise": "Promise.prototype",
    "regexp": "RegExp.prototype",
    "set": "Set.prototype",
}


class Coercion:
    """Folding of coercions."""

    def __init__(
        self,
        state: RunState,
        judgement: Judgement,
        held: HeldTexts,
        method_lookup: MethodLookup,
        concatenation: Concatenation,
        host_primitives: HostPrimitives,
        machine: Recursion,
    ) -> None:
        self._dataflow = state.dataflow
        self._exposure = state.exposure
        self._lowered = state.surroundings.lowered
        self._judgement = judgement
        self._held = held
        self._method_lookup = method_lookup
        self._concatenation = concatenation
        self._host_primitives = host_primitives
        self._machine = machine
        self._builtin_texts = BuiltinTexts(method_lookup, held, concatenation, machine)
        self.nesting = 0
        self._converted_objects: set[HeapObject] = set()
        # The primitive that an object gave a reader, and the version then. While the version is unchanged, so is
        # the result, and every method of the conversion has been called.
        self._conversions: dict[tuple[Reader, HeapObject, str, int], tuple[int, Value]] = {}

    def to_primitive(self, atom: Atom, span: Span, *, hint: str = "default") -> Value:
        """Return ToPrimitive of one atom (ECMA-262 §7.1.1)."""
        if type(atom) is str or type(atom) is Primitive or atom in PRIMITIVE_UNKNOWNS:
            return of(atom)
        if isinstance(atom, HeapObject):
            return self._object_primitive(atom, span, hint)
        if type(atom) is Known:
            made = self._host_primitives.known_primitive(atom, span)
            for element in objects_of(self._exposure.custom_elements(atom)):
                made |= self._object_primitive(element, span, hint)
            return made
        if atom is HOST_HELD_TEXT:
            return self._dataflow.read(self._held.given) | V_ANY_STRING
        if isinstance(atom, Unknown):
            self._judgement.use(of(atom), Flow.COERCE, span)
            return of(TAINTED_STRING, ANY_NUMBER) if atom is TAINTED_DATA else of(ANY_STRING, ANY_NUMBER)
        return of(ANY_STRING, ANY_NUMBER)

    def _object_primitive(self, target: HeapObject, span: Span, hint: str) -> Value:
        """Call the conversion methods that the payload defines, else fold the built-in ones (OrdinaryToPrimitive)."""
        dataflow = self._dataflow
        if self.nesting and target in self._converted_objects:
            return V_ANY_STRING  # in itself, or met before in this conversion
        if self.nesting >= _MAX_NESTING:  # what the text would be and do is not known
            raise AnalysisLimitError(dataflow.budget)
        if not self.nesting:
            self._converted_objects.clear()
        self._converted_objects.add(target)
        dataflow.spend()
        target.readers[dataflow.reader] = None
        asked = (dataflow.reader, target, hint, dataflow.context)
        version, result = self._conversions.get(asked, (-1, BOTTOM))
        if version == dataflow.version:
            return result
        version = dataflow.version
        self.nesting += 1
        try:
            made = self._converted(target, span, hint)
            # A conversion method that returns an object counts as absent; as a text it would be converted again.
            result = frozenset(atom for atom in made if not isinstance(atom, HeapObject)) or V_ANY_STRING
        finally:
            self.nesting -= 1
        if not self.nesting:  # inside another conversion, the result depends on which
            self._conversions[asked] = version, result
        return result

    def _converted(self, target: HeapObject, span: Span, hint: str) -> Value:
        order = (
            (SYMBOL_TO_PRIMITIVE, "toString")
            if hint == "string"
            else (SYMBOL_TO_PRIMITIVE, "valueOf", "toString")
        )
        result: Value = BOTTOM
        for name in order:
            method = self._method_lookup.get_method(target, name)
            if not method:
                continue
            if UNKNOWN_NESTED_DATA in method:
                # With the hint as its only text, a function constructor builds a harmless function.
                method -= {UNKNOWN_NESTED_DATA}
                self._judgement.leak(of(target), Flow.ARGUMENT, span)
                result = join(result, of(ANY_STRING, ANY_NUMBER))
            asked = (of(hint),) if name == SYMBOL_TO_PRIMITIVE else ()
            made = self._machine.call(method, of(target), asked, span)
            primitives = frozenset(atom for atom in made if not isinstance(atom, HeapObject))
            result = join(result, primitives)
            if (
                made
                and primitives == made
                and result == made
                and not target.escaped
                and not self._is_uncertain(target, name)
            ):
                return result
        if hint == "string" and ("toString" in target.properties or NULL in target.prototype):
            method = self._method_lookup.get_method(
                target, "valueOf"
            )  # a `toString` that is not a function is skipped
            result = join(result, self._machine.call(method, of(target), (), span))
            if "toString" in target.properties and not self._is_uncertain(target, "toString") and result:
                return frozenset(atom for atom in result if not isinstance(atom, HeapObject))
        return join(result, self._builtin_primitive(target, span))

    @staticmethod
    def _is_uncertain(target: HeapObject, name: str) -> bool:
        """Whether the object itself may lack a property that it was seen with."""
        return name in target.uncertain or (name not in target.properties and target.extensible)

    def _builtin_primitive(self, target: HeapObject, span: Span) -> Value:
        if PRIMITIVE_VALUE in target.properties:
            return target.properties[PRIMITIVE_VALUE]
        kind = _PROTOTYPES.get(target.kind, "Object.prototype")
        if not self._method_lookup.inherits_only_from(target, kind, SYMBOL_TO_STRING_TAG):
            return self._foreign_primitive(target, span)
        match target.kind:
            case "array":
                made = self.joined(target, _COMMA, span)
                own = self._method_lookup.get_method(target, "join")
                if own:  # what is no function gives `[object Array]`, or any tag
                    return join(made, self._machine.call(own, of(target), (), span) | V_ANY_STRING)
                return made
            case "object" | "arguments":
                return of("[object Object]" if target.kind == "object" else "[object Arguments]")
            case "promise" | "map" | "set" | "generator":
                return of(f"[object {target.kind.capitalize()}]")
            case "regexp":
                return self._builtin_texts.of_pattern(target, self.to_string, span)
            case "function" | "class":
                return function_text(self._lowered, target)
            case _:
                return V_ANY_STRING

    def _foreign_primitive(self, target: HeapObject, span: Span) -> Value:
        """Convert an object of other code, or with built-in methods and slots from its prototypes."""
        held = frozenset(a for a in target.elements if type(a) is str) if target.extensible else BOTTOM
        if target.kind == "array":
            held |= self.joined(target, _COMMA, span)
            held |= frozenset(a for a in target.contents() if type(a) is str)  # of one element, its text
        return held | self._builtin_texts.foreign(target, self.to_string, span)

    def joined(self, target: HeapObject, separator: Value, span: Span) -> Value:
        """Return ``Array.prototype.join`` of an exact array, a string that is unknown otherwise."""
        constants = [atom for atom in separator if type(atom) is str]
        if not target.exact or target.escaped or self.nesting >= _MAX_NESTING:
            self.nesting += 1
            contents = self.to_string(_without_empty(target.contents(), target), span)
            self.nesting -= 1
            if any(map(str.isalpha, constants)) and any(type(atom) is str for atom in contents):
                return of(DECODED_STRING)  # a list of words has no letter as its separator
            if not contents:
                return V_ANY_STRING
            if len(constants) != len(separator) or any(map(_LETTERS.search, constants)):
                return unresolved_text((contents, separator, contents))
            made = unresolved_text((contents, contents))
            # No scheme has the separator in it, so only the first element may be one.
            is_apart = all(map(str.strip, constants))
            return (made - SCHEME_MARKS) | (contents & SCHEME_MARKS) if is_apart else made
        self._dataflow.spend(len(target.items))
        pieces: list[Value] = []
        for index, item in enumerate(target.items):
            if index:
                pieces.append(separator)
            pieces.append(self.to_string(_without_empty(item, target), span))
        return self._concatenation.concatenated(pieces)

    def to_string(self, value: Value, span: Span) -> Value:
        """Return ToString: string constants, or the unknown string (ECMA-262 §7.1.17)."""
        result: set[Atom] = set()
        for atom in value:
            if type(atom) is str:
                result.add(atom)
            elif type(atom) is Primitive:
                result.add(atom.text if atom.type != "symbol" else self._symbol_text(atom))
            elif atom in STRING_UNKNOWNS:
                result.add(atom)
            elif atom in PRIMITIVE_UNKNOWNS:
                result.add(ANY_STRING)
            else:
                for piece in self.to_primitive(atom, span, hint="string"):
                    result.add(
                        piece
                        if type(piece) is str or piece in STRING_UNKNOWNS
                        else piece.text
                        if type(piece) is Primitive
                        else ANY_STRING
                    )
        return frozenset(result)

    @staticmethod
    def _symbol_text(atom: Primitive) -> Atom:
        """Return ``SymbolDescriptiveString``; any other conversion of a symbol throws."""
        if atom.text == ANY_OWN_SYMBOL:
            return ANY_STRING
        own = atom.text.startswith(REGISTERED_PREFIX)
        return f"Symbol({atom.text[3:]})" if own else f"Symbol(Symbol.{atom.text[2:]})"

    def to_number(self, value: Value, span: Span) -> Value:
        """Return ToNumber: number constants, or the unknown number (ECMA-262 §7.1.4)."""
        if len(value) == 1:
            (atom,) = value
            if atom is ANY_NUMBER or (type(atom) is Primitive and atom.type == "number"):
                return value
        result: Value = BOTTOM
        for atom in value:
            if type(atom) is Primitive:
                result |= number(atom.number).value
            elif type(atom) is str:
                result |= number(literals.to_number(atom)).value
            elif isinstance(atom, HeapObject):
                inner = self.to_primitive(atom, span, hint="number")
                result |= self.to_number(frozenset(a for a in inner if not isinstance(a, HeapObject)), span)
            else:
                if isinstance(atom, (Known, Unknown)) and atom not in PRIMITIVE_UNKNOWNS:
                    self.to_primitive(atom, span)
                result |= V_ANY_NUMBER
        return result

    @staticmethod
    def may_be_callable(atom: Atom) -> bool:
        """Whether calling the atom could run something."""
        return isinstance(atom, (Known, Unknown, Host)) and atom not in PRIMITIVE_UNKNOWNS


def _without_empty(value: Value, target: HeapObject) -> Value:
    """Return elements as ``join`` reads them: what is nothing, or the array itself, is an empty text."""
    return frozenset("" if atom is target or atom is UNDEFINED or atom is NULL else atom for atom in value)
