"""What searches of a text ask a pattern for: ``Symbol.match`` and its like, and ``exec`` (ECMA-262 §22.2.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.atoms import BOTTOM, V_ANY_STRING, Primitive, Value, of
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.values import join

if TYPE_CHECKING:
    from evalward.guard.domain.call import Call
    from evalward.guard.interpret.machine import Machine

_READ = ("0", "1", "2", "groups", "index")


def own_exec(machine: Machine, pattern: Value, call: Call) -> Value:
    """Call an ``exec`` that the payload gave a pattern, or its class: every search calls it (ECMA-262 §22.2.7.1)."""
    result: Value = BOTTOM
    for atom in pattern:
        if isinstance(atom, HeapObject):
            method = machine.get_method(atom, "exec")
            if method:
                machine.use(method, Flow.CALLBACK, call.span)
                result = join(result, machine.call(method, of(atom), (V_ANY_STRING,), call.span))
    return result


def call_symbol(machine: Machine, call: Call, name: str) -> Value:
    """Call the ``Symbol.<name>`` method that an argument object defines: an implicit call is a call.

    One that is no function, as undefined, leaves the object to be converted to a text.
    """
    result: Value = BOTTOM
    for atom in call.arg(0):
        if isinstance(atom, HeapObject):
            method = machine.get_method(atom, f"@@{name}")
            if method:
                machine.use(method, Flow.CALLBACK, call.span)
                made = machine.call(method, of(atom), (call.this, call.arg(1)), call.span)
                result = join(join(result, made), V_ANY_STRING)
    return result


def inside(machine: Machine, matches: Value, call: Call) -> Value:
    """Return what the results of an ``exec`` of the payload hold or inherit: matched texts, groups, an index."""
    result: Value = BOTTOM
    for atom in matches:
        if isinstance(atom, HeapObject):
            machine.observe(atom)
            result = join(result, atom.everything())
            for name in _READ:
                result = join(result, machine.get(of(atom), name, call.span))
    return result


def texts_inside(machine: Machine, matches: Value, call: Call) -> Value:
    """Return those of them that are put into a text, as ToString gives them."""
    return machine.to_string(inside(machine, matches, call), call.span)


def is_pattern(value: Value) -> bool:
    """Whether a value may be a regular expression, or another object with the methods of one."""
    return any(not (type(atom) is str or type(atom) is Primitive) for atom in value)
