"""The node kinds of the pinned grammar: those that hardening understands, and those that it refuses by name.

A test walks every kind of the grammar, so that a new version of it cannot bring one in unseen. ``FIELDS`` has the
fields of the understood kinds.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from tree_sitter import Query, QueryCursor

from evalward.guard.syntax.grammar import KIND_COUNT, LANGUAGE

if TYPE_CHECKING:
    from tree_sitter import Node

    from evalward.guard.syntax.program import ParsedProgram

FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "arguments": (),
    "array": (),
    "array_pattern": (),
    "arrow_function": ("parameter", "parameters", "body"),
    "assignment_expression": ("left", "right"),
    "assignment_pattern": ("left", "right"),
    "augmented_assignment_expression": ("left", "operator", "right"),
    "await_expression": (),
    "binary_expression": ("left", "operator", "right"),
    "break_statement": ("label",),
    "call_expression": ("function", "optional_chain", "arguments"),
    "catch_clause": ("parameter", "body"),
    "class": ("name", "body"),
    "class_body": ("member",),
    "class_declaration": ("name", "body"),
    "class_heritage": (),
    "class_static_block": ("body",),
    "comment": (),
    "computed_property_name": (),
    "continue_statement": ("label",),
    "debugger_statement": (),
    "do_statement": ("body", "condition"),
    "else_clause": (),
    "empty_statement": (),
    "escape_sequence": (),
    "export_clause": (),
    "export_specifier": ("name", "alias"),
    "export_statement": ("declaration", "value", "source"),
    "expression_statement": (),
    "false": (),
    "field_definition": ("property", "value"),
    "finally_clause": ("body",),
    "for_in_statement": ("kind", "left", "operator", "right", "body"),
    "for_statement": ("initializer", "condition", "increment", "body"),
    "formal_parameters": (),
    "function_declaration": ("name", "parameters", "body"),
    "function_expression": ("name", "parameters", "body"),
    "generator_function": ("name", "parameters", "body"),
    "generator_function_declaration": ("name", "parameters", "body"),
    "hash_bang_line": (),
    "identifier": (),
    "if_statement": ("condition", "consequence", "alternative"),
    "import": (),
    "import_clause": (),
    "import_specifier": ("name", "alias"),
    "import_statement": ("source",),
    "labeled_statement": ("label", "body"),
    "lexical_declaration": ("kind",),
    "member_expression": ("object", "optional_chain", "property"),
    "meta_property": (),
    "method_definition": ("name", "parameters", "body"),
    "named_imports": (),
    "namespace_export": (),
    "namespace_import": (),
    "new_expression": ("constructor", "arguments"),
    "null": (),
    "number": (),
    "object": (),
    "object_assignment_pattern": ("left", "right"),
    "object_pattern": (),
    "optional_chain": (),
    "pair": ("key", "value"),
    "pair_pattern": ("key", "value"),
    "parenthesized_expression": (),
    "private_property_identifier": (),
    "program": (),
    "property_identifier": (),
    "regex": ("pattern", "flags"),
    "regex_flags": (),
    "regex_pattern": (),
    "rest_pattern": (),
    "return_statement": (),
    "sequence_expression": (),
    "shorthand_property_identifier": (),
    "shorthand_property_identifier_pattern": (),
    "spread_element": (),
    "statement_block": (),
    "statement_identifier": (),
    "string": (),
    "string_fragment": (),
    "subscript_expression": ("object", "optional_chain", "index"),
    "super": (),
    "switch_body": (),
    "switch_case": ("value", "body"),
    "switch_default": ("body",),
    "switch_statement": ("value", "body"),
    "template_string": (),
    "template_substitution": (),
    "ternary_expression": ("condition", "consequence", "alternative"),
    "this": (),
    "throw_statement": (),
    "true": (),
    "try_statement": ("body", "handler", "finalizer"),
    "unary_expression": ("operator", "argument"),
    "undefined": (),
    "using_declaration": (),
    "update_expression": ("operator", "argument"),
    "variable_declaration": (),
    "variable_declarator": ("name", "value"),
    "while_statement": ("condition", "body"),
    "with_statement": ("object", "body"),
    "yield_expression": (),
}
REFUSED: Final = frozenset(
    {
        "decorator",
        "html_character_reference",
        "html_comment",
        "import_attribute",
        "jsx_attribute",
        "jsx_closing_element",
        "jsx_element",
        "jsx_expression",
        "jsx_namespace_name",
        "jsx_opening_element",
        "jsx_self_closing_element",
        "jsx_text",
    }
)
"""JSX, decorators, import attributes, and comments that begin like those of HTML."""

# The first is read across a line end where ECMA-262 has two words; the others belong to what is refused.
REFUSED_TOKENS: Final = frozenset({"static get", "@", "</", "/>"})
_PUNCTUATION_AND_WORDS: Final = """
    export * default as { , } import from with var let const await of else if switch for ( ; ) in while do try break
    continue debugger return throw : case catch finally yield = [ ] < > . " ' class extends async function => new +=
    -= *= /= %= ^= &= |= >>= >>>= <<= **= &&= ||= ??= ... && || >> >>> << & ^ | + - / % ** <= == === != !== >= ??
    instanceof ! ~ typeof void delete ++ -- ` ${ target meta static get set ? using
"""
TOKENS: Final = frozenset(_PUNCTUATION_AND_WORDS.split())


def _is_refused(kind: int) -> bool:
    name = LANGUAGE.node_kind_for_id(kind) or ""
    if not LANGUAGE.node_kind_is_visible(kind) or name == "end":
        return False
    return name not in (FIELDS if LANGUAGE.node_kind_is_named(kind) else TOKENS)


REFUSED_KINDS: Final = frozenset(kind for kind in range(KIND_COUNT) if _is_refused(kind))
# Each of these kinds has one of these texts in it or next to it, and ordinary code has none: no tree holds a token that
# is missing, since a text with one does not parse.
_MAY_BE_REFUSED: Final = re.compile(rb"@|</|/>|<!--|-->|static|import|export")
_SEEN_WHOLE: Final = 60_000  # a query skips nodes that lie deeper, see ``syntax.landmarks``


def _query() -> Query:
    patterns = {
        f"({LANGUAGE.node_kind_for_id(kind)}) @node"
        if LANGUAGE.node_kind_is_named(kind)
        else f'"{LANGUAGE.node_kind_for_id(kind)}" @node'
        for kind in REFUSED_KINDS
    }
    return Query(LANGUAGE, "\n".join(sorted(patterns)))


_QUERY: Final = _query()


def unknown_node(program: ParsedProgram) -> Node | None:
    """Return the first node of a kind that hardening refuses, or None."""
    if _MAY_BE_REFUSED.search(program.source) is None:
        return None
    root = program.tree.root_node
    whole = root.descendant_count < _SEEN_WHOLE
    found = QueryCursor(_QUERY).captures(root).get("node", []) if whole else _walked(root)
    return min(found, key=lambda node: (node.start_byte, -node.end_byte), default=None)


def _walked(root: Node) -> list[Node]:
    found: list[Node] = []
    stack = [root]
    while stack:
        node = stack.pop()
        if node.kind_id in REFUSED_KINDS:
            found.append(node)
        stack.extend(node.children)
    return found
