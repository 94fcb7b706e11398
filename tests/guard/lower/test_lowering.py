"""The instructions that small programs are lowered to, as data in ``programs.toml``."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tree_sitter import Parser

from evalward.guard.domain.instructions import Op
from evalward.guard.domain.scope import Reference, UnitIndex
from evalward.guard.lower.lower import lower
from evalward.guard.syntax.grammar import LANGUAGE

if TYPE_CHECKING:
    from evalward.guard.domain.instructions import Instruction, Lowered

PROGRAMS = tomllib.loads((Path(__file__).parent / "programs.toml").read_text("utf-8"))


def lowered(source: str) -> Lowered:
    root = Parser(LANGUAGE).parse(source.encode()).root_node
    return lower(source.encode(), root.named_children, expression=False, module=False, script=True)


def operand(part: Any) -> str:
    match part:
        case tuple():
            return f"({' '.join(map(operand, part))})"
        case UnitIndex():
            return f"unit{part:d}"
        case bool() | None | str():
            return repr(part)
        case int():
            return f"...%{~part}" if part < 0 else f"%{part}"
        case Reference():
            return part.name
        case _:
            raise TypeError(part)


def written(instruction: Instruction) -> str:
    operands = [*instruction[2:5]]
    while operands and operands[-1] is None:
        operands.pop()
    return " ".join([f"%{instruction[1]}", "=", Op(instruction[0]).name, *map(operand, operands)])


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_is_lowered_to(name: str) -> None:
    program = PROGRAMS[name]
    units = lowered(program["source"]).units
    assert [[written(each) for each in unit.code] for unit in units] == program["units"]


def test_units_know_where_they_stand() -> None:
    found = lowered("function f() { return () => this; }")
    assert [unit.outer for unit in found.units] == [None, 0, 1]
    assert [unit.index for unit in found.units] == [0, 1, 2]
    assert found.is_within(UnitIndex(2), UnitIndex(1))
    assert not found.is_within(UnitIndex(0), UnitIndex(1))
    assert found.units[1].uses_this  # the arrow function reads the `this` of the function around it
    assert not found.units[2].uses_this


def test_a_name_is_bound_by_the_nearest_scope() -> None:
    found = lowered("let a; { let a; a; } b;")
    inner, free = (next(each for each in reversed(found.references) if each.name == name) for name in "ab")
    outer = found.references[0]
    assert inner.register not in {-1, outer.register}
    assert (inner.owner, free.owner, free.register) == (0, None, -1)


def test_nesting_does_not_use_the_stack_of_python() -> None:
    depth = 5_000
    assert len(lowered("-" + "+-" * depth + "x").units[0].code) == 2 * depth + 3
