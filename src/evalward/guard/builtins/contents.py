"""Methods that put text or nodes into an element, which may be a script that has not run (DOM Standard §4.9)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evalward.guard.constructs.rank import Rank
from evalward.guard.domain.atoms import PLAIN_ELEMENT, PLAIN_TEXT, TAINTED_DATA, V_UNDEFINED, Value, known, of
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.slots import MAY_HOLD_CODE
from evalward.guard.interpret.atom_order import objects_of
from evalward.guard.interpret.objects.page_sinks import INJECTION
from evalward.guard.interpret.script_texts import any_script
from evalward.guard.interpret.unresolved_sinks import CODE

if TYPE_CHECKING:
    from evalward.guard.domain.call import Call
    from evalward.guard.interpret.machine import Machine, Transfer

_CODE_TEXT: Final = of(known("CodeText"))
# The methods of `ParentNode`, `ChildNode` and `CharacterData` that take text, with the place of the text.
_OF_TEXT: Final = {
    **dict.fromkeys(
        ("append", "prepend", "replaceChildren", "before", "after", "replaceWith", "appendData"), 0
    ),
    "insertAdjacentText": 1,
    "insertData": 1,
    "replaceData": 2,
}
_FOUND: Final = of(known("Element"), TAINTED_DATA)
_NODES: Final = _CODE_TEXT | of(PLAIN_ELEMENT, PLAIN_TEXT, known("Element"))
_GIVE_BACK: Final = frozenset({"appendChild", "insertBefore"})
_OF_NODES: Final = ("appendChild", "insertBefore", "replaceChild", "insertNode", "surroundContents")


def _put(machine: Machine, call: Call) -> Value:
    """Put text or nodes into an element."""
    name = call.path.rpartition(".")[2]
    given = call.arg(0) if name in _OF_NODES else call.all(_OF_TEXT.get(name, 0))
    if any(atom is not PLAIN_ELEMENT and not isinstance(atom, HeapObject) for atom in call.this):
        if given & _CODE_TEXT:
            note = "what may be a script is given a text node with code"
            machine.report(INJECTION, Rank.USED, call.span, None, note)
        elif given & _FOUND and _hold_code(machine):
            machine.miss(CODE, call.span)  # it may hold a text of the payload
        if name in _OF_TEXT and given:
            texts = frozenset(atom for atom in given if type(atom) is str)
            machine.sink("text", texts, call.span, certain=False)
    elif any_script(given):
        machine.patches.put(MAY_HOLD_CODE, V_UNDEFINED)
    machine.leak(call.all() | objects_of(call.this), Flow.ARGUMENT, call.span)
    machine.hold(call.args)
    if name in _GIVE_BACK and given <= _NODES:
        return given
    return machine.materialize(machine.catalogue.get(call.path).result, call.span.start)


def _hold_code(machine: Machine) -> bool:
    """Whether elements that the payload made hold code, as a text node that may be moved."""
    return machine.patches.has(MAY_HOLD_CODE)


def _text_node(machine: Machine, call: Call) -> Value:
    """Make a text node; its text comes back by its members."""
    texts = machine.to_string(call.arg(0), call.span)
    machine.spend(1 + sum(len(text) >> 4 for text in texts if type(text) is str))
    machine.hold(call.args)
    if any_script(texts):
        return _CODE_TEXT
    return of(PLAIN_TEXT if all(type(text) is str for text in texts) else known("Element"))


TRANSFER: dict[str, Transfer] = {
    **{f"Element.{name}": _put for name in (*_OF_TEXT, *_OF_NODES)},
    "document.createTextNode": _text_node,
}
