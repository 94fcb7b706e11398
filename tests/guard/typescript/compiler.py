"""TypeScript's own compiler, in Node: the program that really runs."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tree_sitter import Parser

from evalward.guard.syntax.grammar import LANGUAGE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tree_sitter import Node

PACKAGE = Path(__file__).parents[3] / "clients" / "node"
_OF_THE_PRINTER = {"comment", "empty_statement", "formal_parameters", "parenthesized_expression"}
COMPILER = PACKAGE / "node_modules" / "typescript"
needed = pytest.mark.skipif(
    not shutil.which("node") or not COMPILER.is_dir(), reason="node, or npm ci in clients/node, is missing"
)


def compiled(texts: Sequence[str]) -> list[str | None]:
    """Return what the compiler makes of each text; None where it reports an error."""
    done = subprocess.run(
        ["node", str(Path(__file__).with_name("transpile.mjs")), str(PACKAGE / "package.json")],
        input="".join(json.dumps(text) + "\n" for text in texts),
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def outline(javascript: str) -> list[tuple[str, str]]:
    """Return the nodes of a program in order, each leaf with its text, without comments and empty statements."""
    source = javascript.encode()
    tree = Parser(LANGUAGE).parse(source)
    return [*_outline(tree.root_node, source)]


def _outline(root: Node, source: bytes) -> Iterator[tuple[str, str]]:
    stack = [root]
    while stack:
        node = stack.pop()
        stack.extend(reversed(node.children))
        # The compiler puts and removes parentheses, `x => x` is written as `(x) => x`.
        if node.is_named and node.type not in _OF_THE_PRINTER:
            text = "" if node.named_child_count else source[node.start_byte : node.end_byte].decode()
            yield node.type, re.sub(r"[\s;{}()]", "", text)
