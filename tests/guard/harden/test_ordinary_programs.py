"""Generated ordinary programs do the same hardened: result, exceptions, side effects."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
import tree_sitter_javascript
from tree_sitter import Language, Node

from evalward.fuzz.ordinary.compare import TARGETS, compared
from evalward.fuzz.ordinary.compose import compose
from evalward.guard.syntax.parse import parse
from evalward.oracle import Engine, Oracles
from evalward.oracle.emission import emit

if TYPE_CHECKING:
    from collections.abc import Iterator

SEED = 7
COUNT = 400

# What only a module or a sink's text has, what the emitter refuses, what is no part of the language, and comments.
NOT_COMPOSED = re.compile(
    r"import|export|namespace|module|debugger_statement|with_statement|using_declaration|decorator|jsx|html_"
    r"|hash_bang_line|comment"
)


@pytest.fixture(scope="module")
def oracles() -> Iterator[Oracles]:
    with Oracles(deadline=5) as opened:
        yield opened


@pytest.mark.sampled(16)
@pytest.mark.parametrize("number", range(COUNT))
def test_does_the_same_hardened(oracles: Oracles, number: int) -> None:
    engine = Engine.NODE if number % 4 and Engine.NODE not in oracles.absent else Engine.QUICKJS
    program = compose(SEED, number)
    found = compared(program, oracles, emit, target=TARGETS[number % len(TARGETS)], engine=engine)
    assert found.differs is None, program.text


def kinds(node: Node) -> Iterator[str]:
    yield node.type
    for child in node.named_children:
        yield from kinds(child)


def test_the_programs_hold_every_node_kind_that_can_be_emitted() -> None:
    grammar = Language(tree_sitter_javascript.language())
    ids = range(grammar.node_kind_count)
    named = {
        grammar.node_kind_for_id(i)
        for i in ids
        if grammar.node_kind_is_named(i) and grammar.node_kind_is_visible(i)
    }
    composed: set[str] = set()
    for number in range(COUNT):
        tree = parse(compose(SEED, number).text.encode(), limit_bytes=1 << 20)
        if hasattr(tree, "root_node"):
            composed.update(kinds(tree.root_node))
    assert {kind for kind in named - composed if kind is None or not NOT_COMPOSED.search(kind)} == set()
