"""Reading declarations of variables (ECMA-262 §14.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evalward.guard.harden.function_tree import Function
from evalward.guard.harden.read_patterns import NAMES, pattern, target_name
from evalward.guard.harden.reader import token
from evalward.guard.harden.scopes import Access
from evalward.guard.harden.statement_tree import Declaration
from evalward.guard.harden.tree import Name
from evalward.guard.syntax.grammar import kind, kinds

if TYPE_CHECKING:
    from tree_sitter import Node

    from evalward.guard.harden.reader import Reader
    from evalward.guard.harden.tree import Expression


DECLARATIONS: Final = kinds("variable_declaration", "lexical_declaration", "using_declaration")
_DECLARATOR: Final = kind("variable_declarator")
_FUNCTION_VALUES: Final = kinds("function_expression", "generator_function", "arrow_function")
WORDS: Final = {token("var"): "var", token("let"): "let", token("const"): "const", token("using"): "using"}


def declaration(reader: Reader, node: Node) -> Declaration:
    """Read ``var``, ``let``, ``const`` or ``using``; a ``var`` without a value only declares its name."""
    children = reader.children(node)
    word = WORDS[children[0].kind_id]
    declarators: list[tuple[Expression, Expression | None]] = []
    for child in children[1:]:
        if child.kind_id != _DECLARATOR:
            continue
        name, *rest = reader.children(child)
        value = rest[1] if rest else None
        if name.kind_id in NAMES:
            if value is None and word == "var":
                reader.scopes.declare_variable(reader.name(name))
                continue
            makes = value is not None and value.kind_id in _FUNCTION_VALUES
            target: Expression = target_name(reader, name, word, Access.MAKE if makes else Access.WRITE)
        else:
            target = pattern(reader, name, word)
        read = None if value is None else reader.expression(value)
        if reader.sendings is not None and isinstance(target, Name) and isinstance(read, Function):
            reader.sendings.named.append((target, read))
        declarators.append((target, read))
    return Declaration(reader.line(node), word, declarators)
