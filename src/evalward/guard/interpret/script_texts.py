"""Texts that do something where a script element gets them (HTML Standard §4.12.1; guard.md §2).

An element of the page that a payload finds by its id, its place or a handle may be a script that has not run: an empty
one, or one whose type is no script's. It runs the text that it gets.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from evalward.guard.syntax.grammar import kind, kinds
from evalward.guard.syntax.parse import BudgetFault, SyntaxFault, parse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tree_sitter import Node, Tree

    from evalward.guard.domain.atoms import Atom

# What a script can do nothing without: a call, a template, an assignment, a change by one, `new`, `import`, `delete`.
_MAY_ACT: Final = re.compile(r"[(`=]|\+\+|--|\b(?:new|import|delete|throw)\b")
_CALLS: Final = kinds("call_expression", "new_expression", "import_statement", "throw_statement")
_CHANGES: Final = kinds(
    "assignment_expression", "augmented_assignment_expression", "update_expression", "variable_declarator"
)
_SUBSCRIPT: Final = kind("subscript_expression")
_FUNCTIONS: Final = kinds("arrow_function", "function_expression", "generator_function")
_DECLARATIONS: Final = kinds("function_declaration", "generator_function_declaration", "class_declaration")
_CLASS: Final = kind("class_declaration")
_WRAPPERS: Final = kinds("expression_statement", "parenthesized_expression")
_HTML_COMMENT: Final = re.compile(r"<!--|-->")  # the grammar reads them in another way (guard.md §4, U2)
_SCRIPT_FILE: Final = re.compile(r"[^?#]*\.[cm]?js(?:[?#]|\s*\Z)", re.IGNORECASE)
_MAX_LENGTH: Final = 65_536


def may_act(text: str) -> bool:
    """Whether a part of a text may be a program that does something."""
    return _MAY_ACT.search(text) is not None


# One run asks for the same texts again and again, and each answer may take a parse.
@lru_cache(maxsize=128)
def is_script(text: str, *, defining: bool = True) -> bool:
    """Whether a text is a program that calls, changes or loads something; prose and style sheets do not parse.

    Without ``defining`` a text that only declares functions is none: a function of the payload reads so.
    """
    if not _MAY_ACT.search(text):
        return False
    if _HTML_COMMENT.search(text) or len(text) > _MAX_LENGTH:
        return True
    source = text.encode("utf-8", "surrogatepass")
    tree = parse(source, limit_bytes=len(source))
    if isinstance(tree, SyntaxFault):
        return False
    return isinstance(tree, BudgetFault) or _acts(tree, defining=defining)


def _acts(tree: Tree, *, defining: bool) -> bool:
    """Whether a program calls or changes something; `a[b^="c"]` is a selector."""
    statements = tree.root_node.children
    if defining and any(node.kind_id in _DECLARATIONS for node in statements):
        return True
    pending = [(node, False) for node in statements if not _only_defines(node)]
    while pending:
        node, selects = pending.pop()
        if node.kind_id in _CALLS or (node.kind_id in _CHANGES and not selects):
            return True
        inside = selects or node.kind_id == _SUBSCRIPT
        pending.extend((child, inside) for child in node.children)
    return False


def _only_defines(statement: Node) -> bool:
    """Whether a statement is a function that nothing calls, as the source text of a handler is."""
    if statement.kind_id in _DECLARATIONS and statement.kind_id != _CLASS:
        return True
    node: Node | None = statement
    while node is not None and node.kind_id in _WRAPPERS:
        node = node.named_children[0] if node.named_child_count == 1 else None
    return node is not None and node.kind_id in _FUNCTIONS


def names_script_file(url: str) -> bool:
    """Whether a URL names a file of JavaScript."""
    return _SCRIPT_FILE.match(url) is not None


def any_script(texts: Iterable[Atom], *, defining: bool = True) -> bool:
    """Whether one of the texts among atoms is a script."""
    return any(type(text) is str and is_script(text, defining=defining) for text in texts)
