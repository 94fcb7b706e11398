"""Reading what a statement holds: its condition and its body (ECMA-262 §14, Annex B.3.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evalward.guard.harden.read_functions import statements
from evalward.guard.harden.scopes import Level
from evalward.guard.syntax.grammar import kinds

if TYPE_CHECKING:
    from tree_sitter import Node

    from evalward.guard.harden.reader import Reader
    from evalward.guard.harden.tree import Expression, Statement


FUNCTIONS: Final = kinds("function_declaration", "generator_function_declaration")
_LEXICAL: Final = kinds("lexical_declaration", "class_declaration", "using_declaration")


def substatement(reader: Reader, node: Node) -> Statement:
    """Read the body of a statement, which may be a function in sloppy code (Annex B.3.4)."""
    if node.kind_id in _LEXICAL:
        reader.unknown(node)
    if node.kind_id not in FUNCTIONS:
        return reader.statement(node)
    if reader.strict:
        reader.unknown(node)
    scope = reader.scopes.open(Level.BLOCK)
    block = statements(reader, [node], reader.line(node), top=False)
    reader.scopes.close(scope)
    return block


def condition(reader: Reader, node: Node) -> Expression:
    """Read the expression in the parentheses of a statement."""
    return reader.expression(reader.children(node)[1])
