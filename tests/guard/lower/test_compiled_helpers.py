"""Which functions count as compilers' helpers: those in the catalogue, whatever their variables are called."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files
from typing import TYPE_CHECKING

import pytest
from tree_sitter import Tree

from evalward.guard.lower.compiled_helpers import FUNCTIONS, helper_of
from evalward.guard.syntax.parse import parse

if TYPE_CHECKING:
    from tree_sitter import Node

CATALOGUE = tomllib.loads((files("evalward.guard.catalogue") / "compiled.toml").read_text("utf-8"))
HELPERS = [(role, text.strip()) for role, texts in CATALOGUE.items() for text in texts]


def _function(node: Node) -> Node:
    while node.type not in FUNCTIONS:
        node = node.named_children[0]
    return node


def _role(text: str) -> str:
    source = f"({text})".encode()
    tree = parse(source, limit_bytes=len(source))
    assert isinstance(tree, Tree)
    return helper_of(_function(tree.root_node), source)[0]


@pytest.mark.parametrize(("role", "text"), HELPERS)
def test_a_helper_is_known_as_compilers_write_it(role: str, text: str) -> None:
    assert _role(text) == role


@pytest.mark.parametrize(("role", "text"), HELPERS)
def test_what_is_only_almost_a_helper_is_none(role: str, text: str) -> None:
    """One word more, one operator less, another method: a payload's own function that looks like one."""
    changed = [
        re.sub(r"\.done\b", ".over", text, count=1),
        re.sub(r"\.value\b", ".result", text, count=1),
        re.sub(r"\bnext\b", "rest", text, count=1),
        re.sub(r"\bPromise\b", "Another", text, count=1),
        re.sub(r"\bthis\b", "null", text, count=1),
    ]
    differing = [other for other in changed if other != text]
    assert differing, role
    assert all(_role(other) != role for other in differing)
