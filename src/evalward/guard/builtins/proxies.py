"""``Proxy``: what its handler's traps are given, and what they give (ECMA-262 §10.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.values import V_STRING, V_U1, V_UNDEFINED, Known, Value, join, of

if TYPE_CHECKING:
    from evalward.guard.builtins.registry import Transfer
    from evalward.guard.domain.call import Call
    from evalward.guard.interpret.calls.calls import Calls


def _proxy(run: Calls, call: Call) -> Value:
    """Make a proxy: any use may call any trap with the target, and reaches the target itself."""
    made = run.allocate("proxy", call.start)
    run.expect_proxies()
    target, handler = call.arg(0), call.arg(1)
    run.extend(made)
    run.put(made, "@@target", target)
    run.put(made, "@@handler", handler)
    run.put_element(made, join(target, V_U1))
    for atom in target:
        if isinstance(atom, HeapObject):
            atom.readers[run.reader] = None
            run.put_element(made, atom.everything())
        elif type(atom) is Known and atom.label is not None:
            run.leak(of(atom), Flow.ARGUMENT, call.start, call.end)
    receiver = of(made)
    for atom in handler:
        if not isinstance(atom, HeapObject):
            run.leak(target, Flow.ARGUMENT, call.start, call.end)
            run.put_element(made, V_U1)
            continue
        atom.readers[run.reader] = None  # a trap may be put on the handler later
        traps = atom.everything()
        for name, trap in list(atom.properties.items()):
            result = run.call(
                trap, of(atom), _trap_arguments(run, name, target, receiver, call), call.start, call.end
            )
            run.put_element(made, result)
        if atom.extensible or atom.escaped:
            run.put_element(
                made, run.call(traps, of(atom), (target, V_STRING, V_U1, receiver), call.start, call.end)
            )
    return receiver


def _trap_arguments(run: Calls, name: str, target: Value, receiver: Value, call: Call) -> tuple[Value, ...]:
    if name in {"apply", "construct"}:
        args = run.allocate("array", call.start, "trap arguments")
        run.inexact(args)
        run.put_element(args, V_U1)
        return (target, V_UNDEFINED if name == "apply" else of(args), of(args), receiver)
    return (target, V_STRING, V_U1 if name in {"set", "defineProperty"} else receiver, receiver)


def _revocable(run: Calls, call: Call) -> Value:
    made = run.allocate("object", call.start, "revocable")
    run.put(made, "proxy", _proxy(run, call))
    return of(made)


TRANSFER: dict[str, Transfer] = {
    "Proxy": _proxy,
    "Proxy.revocable": _revocable,
}
