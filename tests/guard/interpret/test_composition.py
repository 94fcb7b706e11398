"""The composition: each operation has its handler, and no part knows a higher one."""

from __future__ import annotations

import inspect

from evalward.guard.catalogue import load_catalogue
from evalward.guard.domain.instructions import Op
from evalward.guard.interpret.composition import Composition
from evalward.guard.interpret.surroundings import Surroundings
from evalward.guard.lower.lower import lower


def _composition() -> Composition:
    empty = lower(b"", [], expression=False, module=False, script=True)
    return Composition(Surroundings(empty, load_catalogue(), steps=10, strict=False), {})


def test_each_operation_has_the_handler_of_its_name() -> None:
    names = [handler.__name__ for handler in _composition().operations]
    assert names == [f"op_{op.name.lower()}" for op in Op]


def test_a_released_machine_keeps_nothing() -> None:
    machine = _composition()
    machine.release()
    assert not vars(machine)


def test_a_part_inherits_from_none() -> None:
    for part in vars(_composition()).values():
        owner = getattr(part, "__self__", part)
        if inspect.getmodule(type(owner)).__name__.startswith("evalward.guard.interpret"):  # type: ignore[union-attr]
            assert type(owner).__bases__ == (object,)
