"""The nodes of a program's two trees, acorn's and the guard's, in words of both: (what, start, end, details)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tree_sitter import Node

Place = tuple[str, int, int, str]

# Kinds that end where their last token ends in one tree and behind a comment in the other: they have no end here.
_BEGINNINGS = {
    "ArrowFunctionExpression": "arrow_function",
    "BlockStatement": "statement_block",
    "BreakStatement": "break_statement",
    "ClassDeclaration": "class",
    "ClassExpression": "class",
    "ContinueStatement": "continue_statement",
    "DebuggerStatement": "debugger_statement",
    "DoWhileStatement": "do_statement",
    "ExpressionStatement": "expression_statement",
    "ForInStatement": "for_in_statement",
    "ForOfStatement": "for_in_statement",
    "ForStatement": "for_statement",
    "FunctionDeclaration": "function",
    "FunctionExpression": "function",
    "IfStatement": "if_statement",
    "LabeledStatement": "labeled_statement",
    "MethodDefinition": "member",
    "PropertyDefinition": "field",
    "ReturnStatement": "return_statement",
    "SequenceExpression": "sequence_expression",
    "StaticBlock": "class_static_block",
    "SwitchStatement": "switch_statement",
    "ThrowStatement": "throw_statement",
    "TryStatement": "try_statement",
    "VariableDeclaration": "declaration",
    "WhileStatement": "while_statement",
    "WithStatement": "with_statement",
    "YieldExpression": "yield_expression",
}
_SPANS = {
    "ArrayExpression": "array",
    "ArrayPattern": "array_pattern",
    "BinaryExpression": "binary",
    "CallExpression": "call",
    "ConditionalExpression": "ternary_expression",
    "Identifier": "name",
    "ImportExpression": "call",
    "Literal": "literal",
    "LogicalExpression": "binary",
    "MemberExpression": "read",
    "NewExpression": "new_expression",
    "ObjectExpression": "object",
    "ObjectPattern": "object_pattern",
    "PrivateIdentifier": "name",
    "TaggedTemplateExpression": "call",
    "TemplateLiteral": "template_string",
    "UnaryExpression": "unary_expression",
    "UpdateExpression": "update_expression",
}
_WITH_DETAILS = {"binary", "declaration", "field", "literal", "member"}
_OURS = {
    "augmented_assignment_expression": "",
    "binary_expression": "binary",
    "call_expression": "call",
    "class_declaration": "class",
    "field_definition": "field",
    "function_declaration": "function",
    "function_expression": "function",
    "generator_function": "function",
    "generator_function_declaration": "function",
    "lexical_declaration": "declaration",
    "member_expression": "read",
    "subscript_expression": "read",
    "using_declaration": "declaration",
    "variable_declaration": "declaration",
    **dict.fromkeys(("string", "number", "regex", "true", "false", "null"), "literal"),
    **dict.fromkeys(
        (
            "identifier",
            "private_property_identifier",
            "property_identifier",
            "shorthand_property_identifier",
            "shorthand_property_identifier_pattern",
            "statement_identifier",
            "undefined",
        ),
        "name",
    ),
}
_KNOWN = {*_BEGINNINGS.values(), *_SPANS.values()}
_WITHOUT_END = set(_BEGINNINGS.values())
_VALUES = {"true": "boolean", "false": "boolean", "null": "object"}


def acorn_places(nodes: Sequence[Sequence[Any]]) -> set[Place]:
    """Return the places of acorn's nodes."""
    found = set()
    for type_, start, end, details in nodes:
        what = _BEGINNINGS.get(type_) or _SPANS.get(type_)
        if what is not None:
            found.add(_place(what, start, end, details))
    return found


def tree_places(root: Node, units: Mapping[int, int]) -> set[Place]:
    """Return the places of the guard's nodes; ``units`` has acorn's offset, in UTF-16 units, for each one in bytes."""
    return {
        _place(what, units.get(start, -1), units.get(end, -1), details)
        for what, start, end, details in _ours(root)
    }


def _place(what: str, start: int, end: int, details: str) -> Place:
    return what, start, -1 if what in _WITHOUT_END else end, details if what in _WITH_DETAILS else ""


def _ours(root: Node) -> Iterator[Place]:
    stack: list[tuple[Node, str]] = [(root, "")]
    while stack:
        node, parent = stack.pop()
        stack.extend((child, node.type) for child in node.children)
        if not node.is_named:
            continue
        what = _OURS.get(node.type, node.type)
        if what == "statement_block" and parent == "class_static_block":
            continue
        if node.type == "method_definition":
            if parent == "class_body":
                yield "member", node.start_byte, node.end_byte, _member(node)
        elif node.type == "meta_property":
            first, _, last = node.children
            yield "name", first.start_byte, first.end_byte, ""
            yield "name", last.start_byte, last.end_byte, ""
        elif what in _KNOWN:
            yield what, node.start_byte, node.end_byte, _details(node, what)


def _details(node: Node, what: str) -> str:
    words = [child.type for child in node.children if not child.is_named]
    if what == "literal":
        return _VALUES.get(node.type, node.type)
    if what == "field":
        return "static" if "static" in words else ""
    if what == "declaration":
        return "await using" if words[:2] == ["await", "using"] else words[0]
    return words[0] if words else ""


def _member(node: Node) -> str:
    words = {child.type for child in node.children if not child.is_named}
    kind = next((each for each in ("get", "set") if each in words), "method")
    order = ["static", kind, "async", "*"]
    return " ".join(each for each in order if each in words or each == kind)
