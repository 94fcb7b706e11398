"""What of a TypeScript tree is types only: the spans that become spaces, or the node that cannot be erased.

A closed list: a node kind of TypeScript that is neither erased, nor transparent, nor within what is erased is refused,
and so is each construct that has an effect of its own (enumerations, namespaces, parameter properties).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tree_sitter import Node

STATEMENTS: Final = frozenset(
    {
        "interface_declaration",
        "type_alias_declaration",
        "ambient_declaration",
        "function_signature",
        "abstract_method_signature",
        "method_signature",
        "index_signature",
    }
)
"""Whole statements and class members; a semicolon takes their place, since the text before them may lack one."""
TYPES: Final = frozenset(
    {
        "type_annotation",
        "asserts_annotation",
        "type_predicate_annotation",
        "type_parameters",
        "type_arguments",
        "implements_clause",
        "override_modifier",
        "accessibility_modifier",
    }
)
TRANSPARENT: Final = frozenset(
    {
        "abstract_class_declaration",
        "as_expression",
        "extends_clause",
        "non_null_expression",
        "optional_parameter",
        "public_field_definition",
        "required_parameter",
        "satisfies_expression",
        "type_identifier",
    }
)
"""Kinds of TypeScript whose children are judged."""
_CASTS = frozenset({"as_expression", "satisfies_expression", "non_null_expression"})
_PARAMETERS = frozenset({"required_parameter", "optional_parameter"})
_FIELD = "public_field_definition"
_MODIFIERS = {  # tokens that are types only, by the kind of the node that has them
    _FIELD: frozenset({"readonly", "?", "!"}),
    "optional_parameter": frozenset({"?"}),
    "method_definition": frozenset({"?"}),
    "variable_declarator": frozenset({"!"}),
    "abstract_class_declaration": frozenset({"abstract"}),
}
_LEADING = frozenset({"accessibility_modifier", "override_modifier", "readonly"})
_FIELDS_OF_TYPES = frozenset({"declare", "abstract"})
_ALONE = "a word that is a modifier or a name; put it and the next word in one line"
_WORDS = _FIELDS_OF_TYPES | {
    "type",
    "interface",
    "readonly",
    "public",
    "private",
    "protected",
    "override",
    "accessor",
}
_NAMES = _WORDS | {"static", "get", "set"}
_OPENING = {"{": "}", "(": ")", "[": "]", "<": ">"}
_NEW_LINE = (
    "a type continues in the next line with a bracket, which may begin a statement; put both in one line"
)
_EFFECTS = {
    "enum_declaration": "an enumeration is a value; use an object",
    "internal_module": "a namespace is a value; use an object",
    "module": "a module declaration is not erasable",
    "import_alias": "an import alias is a value",
    "import_require_clause": "an import is a value",
    "type_assertion": "an assertion in angle brackets may be read in two ways; write `x as T`",
    "instantiation_expression": "type arguments without a call may be read in two ways",
}


@dataclass(frozen=True, slots=True)
class Erasure:
    """A span of bytes that becomes spaces; ``ends_statement``: its first byte becomes a semicolon."""

    start: int
    end: int
    ends_statement: bool = False


@dataclass(frozen=True, slots=True)
class Inerasable:
    """A span of bytes that has no erasable form, and why."""

    start: int
    end: int
    why: str


def erasures(root: Node, source: bytes, only_typescript: frozenset[str]) -> Iterator[Erasure | Inerasable]:
    """Yield what is erased in the tree of ``source`` below ``root``, and what cannot be.

    ``only_typescript`` are the node kinds that JavaScript's grammar lacks.
    """
    stack = [root]
    while stack:
        node = stack.pop()
        kind = node.type
        if kind in STATEMENTS:
            yield _statement(node)
        elif kind in TYPES:
            yield _types(node)
        elif why := _refused(node, kind, only_typescript):
            yield Inerasable(node.start_byte, node.end_byte, why)
        elif kind in _CASTS:
            value, *rest = node.children
            yield _broken(rest) or Erasure(value.end_byte, node.end_byte)
            stack.append(value)
        elif kind == _FIELD and node.children[0].type == "property_identifier" and _is_word(node, source):
            yield Inerasable(node.start_byte, node.end_byte, _ALONE)
        elif kind == _FIELD and any(child.type in _FIELDS_OF_TYPES for child in node.children):
            yield Erasure(node.start_byte, node.end_byte, ends_statement=True)
        elif kind in _PARAMETERS and _is_this(node):
            after = node.next_sibling
            end = after.end_byte if after is not None and after.type == "," else node.end_byte
            yield Erasure(node.start_byte, end)
        else:
            yield from _modifiers(node, kind)
            gone = _MODIFIERS.get(kind, frozenset())
            stack.extend(child for child in node.children if child.is_named or child.type not in gone)


def _statement(node: Node) -> Erasure | Inerasable:
    if node.parent is not None and node.parent.type == "export_statement":
        return Inerasable(
            node.start_byte, node.end_byte, "an exported type is not erasable; leave out `export`"
        )
    if any(_stands_alone(child) for child in node.children):
        return Inerasable(node.start_byte, node.end_byte, _ALONE)
    return Erasure(node.start_byte, node.end_byte, ends_statement=True)


def _stands_alone(child: Node) -> bool:
    """Whether a word that makes a declaration one of types may be a statement of its own."""
    if child.type == "abstract_class_declaration":
        return any(map(_stands_alone, child.children[:1]))
    return child.type == "ambient_declaration" or (child.type in _WORDS and _ends_line(child))


def _types(node: Node) -> Erasure | Inerasable:
    parent = node.parent
    kind = parent.type if parent is not None else ""
    if kind in _PARAMETERS and node.type in _LEADING:
        return Inerasable(
            node.start_byte, node.end_byte, "a parameter property is a value; assign it in the body"
        )
    if (
        kind == "arrow_function"
        and node.type == "type_parameters"
        and node.start_point.row != node.end_point.row
    ):
        # `return` and the parenthesis would stand in different lines.
        return Inerasable(
            node.start_byte, node.end_byte, "type parameters of an arrow function over several lines"
        )
    if node.type == "type_arguments" and _has_import(node):
        return Inerasable(
            node.start_byte, node.end_byte, "an import within type arguments may be read as a call"
        )
    if node.type in _LEADING and _ends_line(node):
        return Inerasable(node.start_byte, node.end_byte, _ALONE)
    if (broken := _broken([node])) is not None:
        return broken
    starts_member = node.type in _LEADING and parent is not None and parent.start_byte == node.start_byte
    return Erasure(node.start_byte, node.end_byte, ends_statement=starts_member)


def _ends_line(node: Node) -> bool:
    after = node.next_sibling
    return after is not None and after.start_point.row != node.end_point.row


def _broken(nodes: Sequence[Node]) -> Inerasable | None:
    """Return the bracket at the beginning of a line that ends the type in TypeScript, unless it is within braces."""
    closing: list[str] = []
    row = nodes[0].start_point.row
    stack = [*reversed(nodes)]
    while stack:
        node = stack.pop()
        if node.children:
            stack.extend(reversed(node.children))
            continue
        within_braces = bool(closing) and closing[-1] == "}"
        if node.start_point.row > row and node.type in {"[", "(", "<", "`"} and not within_braces:
            return Inerasable(node.start_byte, node.end_byte, _NEW_LINE)
        if node.type in _OPENING:
            closing.append(_OPENING[node.type])
        elif closing and node.type == closing[-1]:
            closing.pop()
        row = node.end_point.row
    return None


def _has_import(node: Node) -> bool:
    stack = [node]
    while stack:
        each = stack.pop()
        if each.type == "import":
            return True
        stack.extend(each.children)
    return False


def _refused(node: Node, kind: str, only_typescript: frozenset[str]) -> str | None:
    if kind in _EFFECTS:
        return _EFFECTS[kind]
    if kind in {"import_statement", "import_specifier", "export_statement", "export_specifier"} and any(
        child.type in {"type", "typeof", "="} for child in node.children
    ):
        return "an import or export of types is not erasable; leave it out"
    if not node.is_named and kind in _WORDS:
        return _ALONE
    if node.is_named and kind in only_typescript and kind not in TRANSPARENT:
        return "a construct of TypeScript that Evalward does not erase"
    return None


def _is_word(field: Node, source: bytes) -> bool:
    """Whether a field has the name of a modifier, and nothing ends it before what follows."""
    name = source[field.children[0].start_byte : field.children[0].end_byte].decode()
    after = field.next_sibling
    ended = after is None or after.type in {";", "}"}
    return len(field.children) == 1 and name in _NAMES and not ended


def _is_this(node: Node) -> bool:
    return any(child.type == "this" for child in node.children[:1])


def _modifiers(node: Node, kind: str) -> Iterator[Erasure | Inerasable]:
    if kind in _PARAMETERS and any(child.type == "readonly" for child in node.children):
        yield Inerasable(
            node.start_byte, node.end_byte, "a parameter property is a value; assign it in the body"
        )
    for child in node.children if kind in _MODIFIERS else ():
        if not child.is_named and child.type in _MODIFIERS[kind]:
            if child.type in _WORDS and _ends_line(child):
                yield Inerasable(child.start_byte, child.end_byte, _ALONE)
            starts_member = child.type in _LEADING and child.start_byte == node.start_byte
            yield Erasure(child.start_byte, child.end_byte, ends_statement=starts_member)
