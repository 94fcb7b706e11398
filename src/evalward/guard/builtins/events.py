"""Events of the page: listeners, what they are told, observers and custom elements (DOM Standard; guard.md §3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.values import (
    BOTTOM,
    TEXT,
    UNDEFINED,
    V_BOOLEAN,
    V_DATA,
    V_GLOBAL,
    V_U1,
    V_UNDEFINED,
    Value,
    join,
    known,
    of,
)

if TYPE_CHECKING:
    from evalward.guard.builtins.registry import Transfer
    from evalward.guard.domain.call import Call
    from evalward.guard.interpret.calls.calls import Calls

_DISPATCHED = "dispatched events"
_ELEMENT = of(known("Element"))


def _listener(run: Calls, call: Call) -> Value:
    """``addEventListener``: the listener is called with an event; ``this`` is the element."""
    run.use(call.arg(1), Flow.CALLBACK, call.start, call.end)
    made = run.instance("Event.prototype", call.start)
    run.patches.readers[run.reader] = None
    run.tell_thrown(made)
    event = join(made, run.patches.properties.get(_DISPATCHED, BOTTOM))
    for atom in made:  # a dispatched one is given no target here: the host holds it
        if isinstance(atom, HeapObject):
            current = (
                V_GLOBAL
                if call.path == "addEventListener"
                else frozenset(a for a in call.this if a is not UNDEFINED)
            )
            run.put(atom, "currentTarget", current)
            run.put(atom, "target", join(current, _ELEMENT))
    run.call(call.arg(1), call.this, (event,), call.start, call.end)
    for atom in call.arg(1):
        if isinstance(atom, HeapObject) and not atom.callable:
            run.call(
                run.get(of(atom), "handleEvent", call.start, call.end),
                of(atom),
                (event,),
                call.start,
                call.end,
            )
            run.escape_object(atom)
    return V_UNDEFINED


def _event(run: Calls, call: Call) -> Value:
    """Make an event, which carries what its options hold: ``detail``, ``data`` and the rest."""
    made = run.instance("Event.prototype", call.start)
    for atom in made:
        if isinstance(atom, HeapObject):
            for source in call.arg(1):
                if isinstance(source, HeapObject):
                    source.readers[run.reader] = None
                    for name, value in source.properties.items():
                        run.put(atom, name, value - V_GLOBAL)  # `view` is among what every event has
    return made


def _dispatch(run: Calls, call: Call) -> Value:
    """``dispatchEvent``: every listener of the payload may get this event."""
    run.put(run.patches, _DISPATCHED, frozenset(a for a in call.arg(0) if isinstance(a, HeapObject)))
    run.leak(call.all(), Flow.ARGUMENT, call.start, call.end)
    return V_BOOLEAN


def _define_element(run: Calls, call: Call) -> Value:
    """``customElements.define``: the page constructs the class and tells it of attributes, which are text."""
    run.use(call.arg(1), Flow.CALLBACK, call.start, call.end)
    made = run.construct(call.arg(1), (), call.start, call.end)
    for atom in made:
        if isinstance(atom, HeapObject):
            method = run.get(of(atom), "attributeChangedCallback", call.start, call.end)
            run.call(method, of(atom), (of(TEXT), of(TEXT), of(TEXT)), call.start, call.end)
    run.leak(call.all(1), Flow.ARGUMENT, call.start, call.end)
    return V_UNDEFINED


def _observer(run: Calls, call: Call) -> Value:
    run.use(call.arg(0), Flow.CALLBACK, call.start, call.end)
    run.call(call.arg(0), V_UNDEFINED, (V_DATA, V_U1), call.start, call.end)
    return run.instance("Observer.prototype", call.start)


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
}
