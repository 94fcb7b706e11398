"""The grammar's node kinds as numbers: comparing ``kind_id`` is much cheaper than comparing names."""

from __future__ import annotations

from importlib.metadata import version

import tree_sitter_javascript
from tree_sitter import Language

LANGUAGE = Language(tree_sitter_javascript.language())
GRAMMAR = f"tree-sitter-javascript {version('tree-sitter-javascript')}"
KIND_COUNT = LANGUAGE.node_kind_count


def kind(name: str, *, named: bool = True) -> int:
    """Return the number of a node kind; raise LookupError when the grammar has no such kind."""
    number = LANGUAGE.id_for_node_kind(name, named)
    if number is None:
        raise LookupError(f"the grammar has no node kind {name!r}")
    return number


def kinds(*names: str) -> frozenset[int]:
    """Return the numbers of named node kinds."""
    return frozenset(kind(name) for name in names)


JSX = frozenset(
    number
    for number in range(KIND_COUNT)
    if (LANGUAGE.node_kind_for_id(number) or "").startswith("jsx_") and LANGUAGE.node_kind_is_visible(number)
)
FUNCTIONS = kinds(
    "function_declaration",
    "function_expression",
    "generator_function_declaration",
    "generator_function",
    "arrow_function",
    "method_definition",
)
COMMENTS = kinds("comment", "html_comment", "hash_bang_line")
STRING_TEXT = kinds("string_fragment", "escape_sequence")
REGEX_TEXT = kinds("regex_pattern", "regex_flags")
IDENTIFIERS = kinds(
    "identifier",
    "shorthand_property_identifier",
    "shorthand_property_identifier_pattern",
    "statement_identifier",
)
