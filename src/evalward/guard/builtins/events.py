"""Events of the page: listeners and their arguments, observers, custom elements (DOM Standard; guard.md §3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.atoms import (
    TAINTED_DATA,
    TAINTED_STRING,
    UNDEFINED,
    V_ANY_BOOLEAN,
    V_GLOBAL,
    V_TAINTED_DATA,
    V_UNDEFINED,
    V_UNKNOWN,
    Value,
    known,
    of,
)
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.values import join

if TYPE_CHECKING:
    from evalward.guard.domain.call import Call
    from evalward.guard.interpret.machine import Machine, Transfer

_DISPATCHED = "dispatched events"
_ELEMENT = of(known("Element"))


def _listener(machine: Machine, call: Call) -> Value:
    """``addEventListener``: the listener is called with an event; ``this`` is the element."""
    machine.use(call.arg(1), Flow.CALLBACK, call.span)
    made = machine.instance("Event.prototype", call.span.start)
    machine.tell_thrown(made)
    event = join(made, machine.patches.read(_DISPATCHED))
    for atom in made:  # a dispatched one is given no target here: the host holds it
        if isinstance(atom, HeapObject):
            current = (
                V_GLOBAL
                if call.path == "addEventListener"
                else frozenset(a for a in call.this if a is not UNDEFINED)
            )
            machine.put(atom, "currentTarget", current)
            machine.put(atom, "target", join(current, _ELEMENT))
    given = machine.call(call.arg(1), call.this, (event,), call.span)
    if not machine.in_page:  # Node's target shows its listeners under symbols
        machine.use(given, Flow.RETURN, call.span)
    for atom in call.arg(1):
        if isinstance(atom, HeapObject) and not atom.callable:
            machine.call(
                machine.get(of(atom), "handleEvent", call.span),
                of(atom),
                (event,),
                call.span,
            )
            machine.escape_object(atom)
    return V_UNDEFINED


def _event(machine: Machine, call: Call) -> Value:
    """Make an event, which carries what its options hold: ``detail``, ``data`` and the rest."""
    made = machine.instance("Event.prototype", call.span.start)
    for atom in made:
        if isinstance(atom, HeapObject):
            for source in call.arg(1):
                if isinstance(source, HeapObject):
                    for name in machine.inherited_names(source):
                        value = machine.get(of(source), name, call.span)
                        if name != "constructor":
                            machine.put(atom, name, value)
                    if source.elements or source.kind == "proxy":
                        machine.extend(atom)
                        machine.put_element(atom, source.everything())
    return made


def _dispatch(machine: Machine, call: Call) -> Value:
    """``dispatchEvent``: every listener of the payload may get this event."""
    machine.patches.put(_DISPATCHED, frozenset(a for a in call.arg(0) if isinstance(a, HeapObject)))
    machine.leak(call.all(), Flow.ARGUMENT, call.span)
    return V_ANY_BOOLEAN


def _define_element(machine: Machine, call: Call) -> Value:
    """``customElements.define``: the page constructs the class and calls it with attributes, which are text."""
    machine.use(call.arg(1), Flow.CALLBACK, call.span)
    made = machine.construct(call.arg(1), (), call.span)
    machine.expect_elements(made)
    for atom in made:
        if isinstance(atom, HeapObject):
            method = machine.get(of(atom), "attributeChangedCallback", call.span)
            machine.call(
                method, of(atom), (of(TAINTED_STRING), of(TAINTED_STRING), of(TAINTED_STRING)), call.span
            )
    machine.leak(call.all(1), Flow.ARGUMENT, call.span)
    return V_UNDEFINED


def _defined_class(machine: Machine, call: Call) -> Value:
    """``customElements.get``: a class of the payload, or of the page."""
    return V_TAINTED_DATA | machine.get(machine.custom_elements(TAINTED_DATA), "constructor", call.span)


def _observer(machine: Machine, call: Call) -> Value:
    machine.use(call.arg(0), Flow.CALLBACK, call.span)
    machine.call(call.arg(0), V_UNDEFINED, (V_TAINTED_DATA, V_UNKNOWN), call.span)
    return machine.instance("Observer.prototype", call.span.start)


TRANSFER: dict[str, Transfer] = {
    "Element.addEventListener": _listener,
    "addEventListener": _listener,
    "TextHolder.prototype.addEventListener": _listener,
    "AbortSignal.prototype.addEventListener": _listener,
    "EventClass": _event,
    "Element.dispatchEvent": _dispatch,
    "dispatchEvent": _dispatch,
    "Observer": _observer,
    "customElements.define": _define_element,
    "customElements.get": _defined_class,
}
