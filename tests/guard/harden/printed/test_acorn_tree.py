"""acorn's tree of P' is the tree that the emitter printed.

Each expression and statement of the emitter's tree is one node of acorn's, of a kind that it may have, within the node
of what it is a part of; names, literals, operators and the lengths of lists are those that were printed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
import yaml
from acorn import ROOT, Acorn, missing
from marked import marked

from evalward.corpus.corpus_case import load_cases
from evalward.fuzz.ordinary.compose import compose
from evalward.guard.harden import emit
from evalward.guard.harden.tree import Binary
from evalward.guard.target import Shape, Target

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evalward.guard.harden.printer import Printer

KINDS: dict[str, list[str]] = yaml.safe_load((Path(__file__).parent / "kinds.yaml").read_text("utf-8"))
CORPUS = ROOT / "corpus"
FILES = sorted(path.relative_to(CORPUS) for path in CORPUS.rglob("*.yaml"))
SHAPES = (Shape.EXPRESSION, Shape.SCRIPT, Shape.ASYNC_BODY, Shape.FUNCTION)
SEED, GROUPS, IN_GROUP = 7, 20, 20

pytestmark = pytest.mark.skipif(missing() is not None, reason=missing() or "")


@pytest.fixture(scope="module")
def acorn() -> Iterator[Acorn]:
    with Acorn() as opened:
        yield opened


def faults(
    acorn: Acorn, code: str, target: Target, shape: Shape, bindings: dict[str, str] | None = None
) -> list[str] | None:
    """Return where acorn's tree is another than the emitter's; None for a payload that has no P' in this shape."""
    made = marked(code, target, shape, bindings)
    if made is None:
        return None
    found: dict[str, Any] = acorn.compare(made, shape)
    if "error" in found:
        return [found["error"]]
    odd = [
        f"{kind} is {type_}"
        for kind, types in found["kinds"].items()
        for type_ in types
        if kind != "Paren" and type_ not in KINDS[kind]
    ]
    return [*found["faults"], *odd]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("file", FILES, ids=str)
def test_programs_of_the_corpus(acorn: Acorn, file: Path) -> None:
    wrong = {}
    for case in load_cases([CORPUS / file]):
        for shape in [case.run_shape] if case.run_shape else SHAPES:
            found = faults(acorn, case.run_text, case.target, shape, dict(case.bindings))
            if found:
                wrong[case.id] = found
            if found is not None:
                break
    assert wrong == {}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("group", range(GROUPS))
def test_generated_programs(acorn: Acorn, group: int) -> None:
    programs = {number: compose(SEED, number) for number in range(group * IN_GROUP, (group + 1) * IN_GROUP)}
    found = {
        number: faults(acorn, each.text, Target.SANDBOX, each.shape) for number, each in programs.items()
    }
    assert {number: each for number, each in found.items() if each} == {}
    assert sum(each is not None for each in found.values()) >= IN_GROUP - 2


def _loose(printer: Printer, node: Binary) -> str:
    """Print operators without the parentheses around them, as a wrong emitter would."""
    rest = "".join(f" {operator} {printer.expression(operand)}" for operator, operand in node.rest)
    return f"{printer.expression(node.first)}{rest}"


def test_a_wrong_tree_is_seen(acorn: Acorn) -> None:
    with patch.dict(emit._EXPRESSIONS, {Binary: _loose}):  # noqa: SLF001 - the printers by kind
        found = faults(acorn, "(a - b) * c", Target.SANDBOX, Shape.EXPRESSION)
    assert found is not None
    assert any("Binary" in each for each in found), found
    assert faults(acorn, "(a - b) * c", Target.SANDBOX, Shape.EXPRESSION) == []
