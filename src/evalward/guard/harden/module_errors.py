"""Early errors of import and export (ECMA-262 §16.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.harden import function_errors, name_errors, operand_errors
from evalward.guard.harden.declared_names import Declared
from evalward.guard.harden.walking import KIND_NAMES, Place, Walk, fail

if TYPE_CHECKING:
    from tree_sitter import Node


def import_(walk: Walk, node: Node, children: list[Node], place: Place) -> None:
    """Check an import declaration, and declare the names that it binds."""
    if not place.top:
        raise fail("import outside of the top of a module", node)
    _ends(walk, node, children)
    stack = [child for child in children if KIND_NAMES[child.kind_id] == "import_clause"]
    while stack:
        each = stack.pop()
        kind = KIND_NAMES[each.kind_id]
        if kind in {"import_clause", "named_imports"}:
            stack.extend(child for child in walk.children(each) if child.is_named)
            continue
        bound = each if kind == "identifier" else walk.children(each)[-1]
        if KIND_NAMES[bound.kind_id] != "identifier":
            raise fail("an import binds no name", each)
        name = name_errors.check_bound(walk, bound, place)
        if not place.scope.declare_lexical(name, Declared.LEXICAL):
            raise fail("a name is declared twice", bound)
    walk.push_all([child for child in children if KIND_NAMES[child.kind_id] == "string"], place)


def _ends(walk: Walk, node: Node, children: list[Node]) -> None:
    if KIND_NAMES[children[-1].kind_id] != ";":
        walk.check_inserted_semicolon(node, children[-1].end_byte)


def export(walk: Walk, node: Node, children: list[Node], place: Place) -> None:
    """Check an export declaration, and note what it exports and which local names that needs."""
    if not place.top:
        raise fail("export outside of the top of a module", node)
    kind = KIND_NAMES[children[1].kind_id]
    if kind == "default":
        _default(walk, node, children, place)
    elif kind.endswith("_declaration"):
        _declaration(walk, children[1], place)
    elif kind in {"export_clause", "namespace_export", "*"}:
        _ends(walk, node, children)
        _clause(walk, children, place)
    else:
        raise fail("an export of this kind is not understood", node)


def _exported(walk: Walk, name: str, node: Node) -> None:
    if name in walk.exported:
        raise fail("a name is exported twice", node)
    walk.exported.add(name)


def _default(walk: Walk, node: Node, children: list[Node], place: Place) -> None:
    _exported(walk, "default", node)
    value = children[2]
    kind = KIND_NAMES[value.kind_id]
    if kind in {"lexical_declaration", "variable_declaration"}:
        raise fail("a default export of a declaration", value)
    if kind not in _BODIED:
        _ends(walk, node, children)
        operand_errors.require(value, operand_errors.ASSIGNMENT, walk)
    elif kind in _EXPRESSIONS and walk.next_token(value.end_byte) < len(walk.source):
        # The tree may go on behind what is a declaration without a name.
        _ends(walk, node, [*children[:3]])
    walk.push(value, place)


_EXPRESSIONS = frozenset({"function_expression", "generator_function", "class"})
_BODIED = _EXPRESSIONS | {"function_declaration", "generator_function_declaration", "class_declaration"}


def _declaration(walk: Walk, declared: Node, place: Place) -> None:
    children = walk.children(declared)
    if KIND_NAMES[declared.kind_id] in {"lexical_declaration", "variable_declaration"}:
        for declarator in children:
            if declarator.is_named:
                _export_names(walk, walk.children(declarator)[0], place)
    else:
        name = next(child for child in children if KIND_NAMES[child.kind_id] == "identifier")
        _exported(walk, name_errors.decoded(walk, name), name)
    walk.push(declared, place)


def _export_names(walk: Walk, pattern: Node, place: Place) -> None:
    # Defaults and keys are visited with the declaration, not here.
    visited = len(walk.stack)
    for name, node in name_errors.bound_names(walk, pattern, place):
        _exported(walk, name, node)
    del walk.stack[visited:]


def _clause(walk: Walk, children: list[Node], place: Place) -> None:
    clause = children[1]
    source = any(KIND_NAMES[child.kind_id] == "from" for child in children)
    kind = KIND_NAMES[clause.kind_id]
    if kind == "namespace_export":
        _exported(walk, _export_name(walk, walk.children(clause)[-1]), clause)
    elif kind == "export_clause":
        for specifier in walk.children(clause):
            if not specifier.is_named:
                continue
            parts = walk.children(specifier)
            _exported(walk, _export_name(walk, parts[-1]), specifier)
            if source:
                continue
            if KIND_NAMES[parts[0].kind_id] != "identifier":
                raise fail("an export of a local name that is no name", specifier)
            walk.needed.append((name_errors.check_reference(walk, parts[0], place), specifier))
    walk.push_all([child for child in children if KIND_NAMES[child.kind_id] == "string"], place)


def _export_name(walk: Walk, node: Node) -> str:
    if KIND_NAMES[node.kind_id] == "string":
        value = function_errors.static_name(walk, node) or ""
        if any("\ud800" <= char <= "\udfff" for char in value):
            raise fail("an export's name has half of a surrogate pair", node)
        return value
    return name_errors.decoded(walk, node)


def check_exports(walk: Walk, place: Place) -> None:
    """Check at the end that what a module exports is declared (§16.2.1.1)."""
    for name, node in walk.needed:
        if name not in place.scope.lexical and name not in place.scope.var_names:
            raise fail("an export of a name that is not declared", node)
