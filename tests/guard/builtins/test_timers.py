"""``setTimeout``, on a machine that notes what it is asked for (HTML Standard §8.6)."""

from typing import Any

import pytest

from evalward.guard.builtins.timers import TRANSFER
from evalward.guard.domain.atoms import BOTTOM, V_ANY_NUMBER, V_GLOBAL, V_UNDEFINED, Value, of
from evalward.guard.domain.call import Call
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.span import Span

FUNCTION = HeapObject("function", 1)


class FakeMachine:
    strict = False
    in_page = True

    def __init__(self) -> None:
        self.done: list[object] = []

    def report(self, construct: str, *_: object) -> None:
        self.done.append(construct)

    def call(self, callee: Value, this: Value, *_: object) -> None:
        self.done.append((callee, this))

    def instance(self, *_: object) -> Value:
        return BOTTOM

    use = instance


@pytest.mark.parametrize(("handler", "reported"), [("run()", ["string-timer"]), (FUNCTION, [])])
def test_text_is_reported_and_a_function_is_called(handler: str | HeapObject, reported: list[str]) -> None:
    machine: Any = FakeMachine()
    call = Call("setTimeout", V_UNDEFINED, [of(handler), V_ANY_NUMBER], BOTTOM, Span(0, 9))
    assert TRANSFER["setTimeout"](machine, call) == V_ANY_NUMBER
    assert machine.done == [*reported, (of(handler), V_GLOBAL)]
