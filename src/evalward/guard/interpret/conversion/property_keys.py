"""ToPropertyKey: the names that a computed key may be, and the kinds of keys otherwise (ECMA-262 §7.1.19)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.atoms import (
    ANY_BIGINT,
    ANY_BOOLEAN,
    ANY_NUMBER,
    ANY_SYMBOL,
    DECODED_STRING,
    HARMLESS_STRING,
    HOST_HELD_TEXT,
    PREFIXED_STRING,
    SPELLS_ANY_NAME,
    TAINTED_CHARACTER,
    TAINTED_DATA,
    TAINTED_STRING,
    Known,
    Primitive,
    Value,
)
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.property_key import Key

if TYPE_CHECKING:
    from evalward.guard.domain.span import Span
    from evalward.guard.interpret.conversion.coercion import Coercion
    from evalward.guard.interpret.conversion.host_primitives import HostPrimitives
    from evalward.guard.interpret.held_texts import HeldTexts
    from evalward.guard.interpret.run_state import RunState

_ELSEWHERE = frozenset({PREFIXED_STRING, HARMLESS_STRING})


class PropertyKeys:
    """Folding of computed keys."""

    def __init__(
        self, state: RunState, held: HeldTexts, coercion: Coercion, host_primitives: HostPrimitives
    ) -> None:
        self._dataflow = state.dataflow
        self._strict = state.surroundings.strict
        self._held = held
        self._coercion = coercion
        self._host_primitives = host_primitives

    def to_property_key(self, value: Value, span: Span) -> Key:
        """Return a computed key; an object's ``toString`` is called (ECMA-262 §7.1.19)."""
        if len(value) == 1:
            (atom,) = value
            if type(atom) is str:
                return Key((atom,))
            if type(atom) is Primitive:
                return Key((atom.text,))
            if atom is ANY_NUMBER:
                return Key((), numeric=True)
        names: list[str] = []
        numeric = unknown = tainted = decoded = hidden = elsewhere = False
        for atom in value:
            if type(atom) is str:
                names.append(atom)
            elif type(atom) is Primitive:
                names.append(atom.text)
            elif atom is ANY_NUMBER or atom is ANY_BIGINT or atom is ANY_SYMBOL:
                numeric = True
            elif atom is ANY_BOOLEAN:
                names.extend(("false", "true"))
            elif isinstance(atom, HeapObject):
                inner = self.to_property_key(self._coercion.to_primitive(atom, span, hint="string"), span)
                names.extend(inner.names)
                elsewhere = elsewhere or inner.elsewhere
                hidden = hidden or inner.hidden
                numeric, unknown, tainted, decoded = (
                    numeric or inner.numeric,
                    unknown or inner.unknown,
                    tainted or inner.tainted,
                    decoded or inner.decoded,
                )
            elif atom is HOST_HELD_TEXT:
                unknown = True
                names.extend(text for text in self._dataflow.read(self._held.given) if type(text) is str)
            elif atom is TAINTED_CHARACTER or (atom in _ELSEWHERE and not self._strict):
                numeric = elsewhere = True
            else:
                unknown = True
                tainted = tainted or atom is TAINTED_STRING or atom is TAINTED_DATA
                decoded = decoded or atom in SPELLS_ANY_NAME
                hidden = hidden or atom is DECODED_STRING
                if type(atom) is Known:
                    names.extend(
                        a for a in self._host_primitives.known_primitive(atom, span) if type(a) is str
                    )
        return Key(tuple(sorted(set(names))), numeric, unknown, tainted, decoded, hidden, elsewhere)
