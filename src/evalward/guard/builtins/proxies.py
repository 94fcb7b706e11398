"""``Proxy``: the arguments and results of its handler's traps (ECMA-262 §10.5, §28.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.atoms import V_ANY_STRING, V_UNDEFINED, V_UNKNOWN, Known, Value, known, of
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.slots import PROXY_HANDLER, PROXY_TARGET
from evalward.guard.domain.values import join

if TYPE_CHECKING:
    from evalward.guard.domain.call import Call
    from evalward.guard.interpret.machine import Machine, Transfer


def _proxy(machine: Machine, call: Call) -> Value:
    """Make a proxy: any use may call any trap with the target, and reaches the target itself."""
    made = machine.allocate("proxy", call.span.start)
    machine.expect_proxies()
    target, handler = call.arg(0), call.arg(1)
    machine.extend(made)
    machine.put(made, PROXY_TARGET, target)
    machine.put(made, PROXY_HANDLER, handler)
    machine.put_element(made, join(target, V_UNKNOWN))
    for atom in target:
        if isinstance(atom, HeapObject):
            machine.observe(atom)
            machine.put_element(made, atom.everything())
        elif type(atom) is Known and atom.label is not None:
            machine.leak(of(atom), Flow.ARGUMENT, call.span)
    receiver = of(made)
    for atom in handler:
        if not isinstance(atom, HeapObject):
            machine.leak(target, Flow.ARGUMENT, call.span)
            machine.put_element(made, V_UNKNOWN)
            continue
        machine.observe(atom)  # a trap may be put on the handler later
        traps = atom.everything()
        for name, trap in list(atom.properties.items()):
            result = machine.call(
                trap, of(atom), _trap_arguments(machine, name, target, receiver, call), call.span
            )
            machine.put_element(made, result)
        if atom.extensible or atom.escaped:
            machine.put_element(
                made, machine.call(traps, of(atom), (target, V_ANY_STRING, V_UNKNOWN, receiver), call.span)
            )
    return receiver


def _trap_arguments(
    machine: Machine, name: str, target: Value, receiver: Value, call: Call
) -> tuple[Value, ...]:
    if name in {"apply", "construct"}:
        args = machine.allocate("array", call.span.start, "trap arguments")
        machine.inexact(args)
        machine.put_element(args, V_UNKNOWN)
        return (target, V_UNDEFINED if name == "apply" else of(args), of(args), receiver)
    return (target, V_ANY_STRING, V_UNKNOWN if name in {"set", "defineProperty"} else receiver, receiver)


def _revocable(machine: Machine, call: Call) -> Value:
    made = machine.allocate("object", call.span.start, "revocable")
    machine.put(made, "proxy", _proxy(machine, call))
    machine.put(made, "revoke", of(known("Proxy.revoke")))
    return of(made)


TRANSFER: dict[str, Transfer] = {
    "Proxy": _proxy,
    "Proxy.revocable": _revocable,
}
