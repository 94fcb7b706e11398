from __future__ import annotations

from typing import Any

import pytest
from guard_cases import front_end, over

from evalward.guard.syntax.parse import parse
from evalward.guard.syntax.shapes import Rejection, programs_of
from evalward.guard.target import Shape


@over("syntax/shapes")
def test_a_declared_shape_is_parsed_in_its_wrapper(case: dict[str, Any]) -> None:
    found = front_end(case["code"], shape=case["shape"])
    if case["is"] == "ok":
        assert not isinstance(found, Rejection)
    else:
        assert isinstance(found, Rejection)
        assert found.budget is None
        assert (found.construct or "syntax") == case["is"]
        assert 0 <= found.start <= found.end <= len(case["code"].encode())


@pytest.mark.parametrize(
    ("code", "parses"),
    [
        ("a.b(c)", 1),
        ("const a = 1; a", 1),
        ("function f() {} f()", 1),
        ("function() { return 1 }", 1),
        ("async () => { await x }", 1),
        ("{ a() }", 2),
        ("{}/x/g", 2),
    ],
)
def test_an_undeclared_shape_is_parsed_once_unless_shapes_can_differ(
    code: str, parses: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bytes] = []

    def counted(source: bytes, *, limit_bytes: int) -> object:
        seen.append(source)
        return parse(source, limit_bytes=limit_bytes)

    monkeypatch.setattr("evalward.guard.syntax.shapes.parse", counted)
    programs_of(code.encode(), None, limit_bytes=65536)
    assert len(seen) == parses


@pytest.mark.parametrize("shape", list(Shape))
def test_offsets_map_back_to_the_payload(shape: Shape) -> None:
    programs = programs_of(b"alpha(beta)", shape, limit_bytes=65536)
    assert not isinstance(programs, Rejection)
    (program,) = programs
    assert program.text(program.roots[0]) == b"alpha(beta)"
    assert program.roots[0].start_byte - program.offset == 0
    assert program.length == len(b"alpha(beta)")


def test_the_expression_shape_shows_the_call_that_a_script_hides() -> None:
    programs = programs_of(b"{}/process['ex'+'it'](0)/g", Shape.EXPRESSION, limit_bytes=65536)
    assert not isinstance(programs, Rejection)
    assert programs[0].roots[0].type == "binary_expression"
