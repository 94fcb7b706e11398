"""Policies of Trusted Types (W3C, Trusted Types §2.3, §4.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evalward.guard.constructs.rank import Rank
from evalward.guard.domain.atoms import NULL, TAINTED_STRING, UNDEFINED, V_UNDEFINED, V_UNKNOWN, of
from evalward.guard.domain.values import join
from evalward.guard.interpret.objects.page_sinks import INJECTION

if TYPE_CHECKING:
    from evalward.guard.domain.atoms import Value
    from evalward.guard.domain.call import Call
    from evalward.guard.interpret.machine import Machine, Transfer

_DEFAULT: Final = "default"
_CODE: Final = ("createScript", "createScriptURL")
_GIVEN: Final = of(TAINTED_STRING)
_REFUSED: Final = of(UNDEFINED, NULL)


def _create_policy(machine: Machine, call: Call) -> Value:
    """Make a policy, whose methods give what its rules give, and which has a name."""
    made = machine.allocate("object", call.span.start, "policy")
    names = machine.to_string(call.arg(0), call.span)
    machine.put(made, "name", names)
    for name in ("createHTML", *_CODE):  # Web IDL calls a callback without a receiver
        machine.call(_rule(machine, call, name), V_UNDEFINED, (_GIVEN, _GIVEN, _GIVEN), call.span)
    if any(type(name) is not str or name == _DEFAULT for name in names):
        _judge_default(machine, call)
    return join(call.arg(1), of(made))


def _judge_default(machine: Machine, call: Call) -> None:
    """Judge the rules of the default policy: each sink of the page asks them, and takes what they return."""
    machine.sink("html", _returned(machine, call, "createHTML"), call.span)
    for name in _CODE:
        if _returned(machine, call, name):
            machine.report(INJECTION, Rank.USED, call.span, None, "a policy of the page returns code")


def _returned(machine: Machine, call: Call, name: str) -> Value:
    """Return what a rule makes of a text of the page, but for that text itself, and for nothing."""
    made = machine.call(_rule(machine, call, name), V_UNDEFINED, (_GIVEN, _GIVEN, _GIVEN), call.span)
    return made - _GIVEN - _REFUSED


def _rule(machine: Machine, call: Call, name: str) -> Value:
    """Return a rule, without the unknown one that any object which the host has may have."""
    return machine.get(call.arg(1), name, call.span) - V_UNKNOWN


TRANSFER: dict[str, Transfer] = {"trustedTypes.createPolicy": _create_policy}
