"""GetMethod, on a machine that only calls (ECMA-262 §7.3.10)."""

from __future__ import annotations

from evalward.guard.domain.atoms import BOTTOM, Value, of
from evalward.guard.domain.heap import HeapObject
from evalward.guard.interpret.dataflow import Dataflow
from evalward.guard.interpret.method_lookup import MethodLookup
from evalward.guard.lower.lower import lower

GETTER, GIVEN = of(HeapObject("function", 1)), of("what the getter gives")


class FakeMachine:
    def get(self, *_: object) -> Value:
        raise AssertionError

    construct = get

    def call(self, callee: Value, *_: object) -> Value:
        return GIVEN if callee == GETTER else BOTTOM


def test_a_method_is_what_the_object_and_its_prototypes_hold_and_what_getters_give() -> None:
    empty = lower(b"", [], expression=False, module=False, script=True)
    dataflow = Dataflow(empty, budget=10)
    target, parent = HeapObject("object", 0), HeapObject("object", 0)
    target.prototype, parent.properties["next"], target.getters["next"] = of(parent), of("own"), GETTER

    assert MethodLookup(dataflow, FakeMachine()).get_method(target, "next") == of("own") | GIVEN
    assert all(dataflow.reader in each.readers for each in (target, parent))


def test_objects_that_are_prototypes_of_each_other_are_walked_through_once() -> None:
    empty = lower(b"", [], expression=False, module=False, script=True)
    dataflow = Dataflow(empty, budget=100)
    objects = [HeapObject("object", 0) for _ in range(40)]
    for each in objects:
        each.prototype = of(*objects)

    assert MethodLookup(dataflow, FakeMachine()).get_method(objects[0], "next") == BOTTOM
    assert dataflow.steps <= len(objects)
