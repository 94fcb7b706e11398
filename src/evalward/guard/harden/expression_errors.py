"""Early errors of expressions: literals, members, calls, assignments (ECMA-262 §13)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evalward.guard.harden import literal_text, name_errors, operand_errors
from evalward.guard.harden.await_chains import is_await_head
from evalward.guard.harden.pattern_text import InvalidRegExpError
from evalward.guard.harden.regexp import regexp_text
from evalward.guard.harden.walking import KIND_NAMES, Place, Walk, fail
from evalward.guard.syntax.ambiguity import UNUSUAL_SPACE
from evalward.guard.syntax.words import LINE_BREAK

if TYPE_CHECKING:
    from tree_sitter import Node

_AFTER_LITERAL: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_$\\#")
_LAST_ASCII: Final = 0x7F
_PATTERNS: Final = frozenset({"array_pattern", "object_pattern"})
_MOST_IMPORT_ARGUMENTS: Final = 2
_PLAIN_STRING: Final = 3  # quote, text, quote


def string(walk: Walk, node: Node, children: list[Node], place: Place) -> None:
    """Check a string's escapes (§12.9.4.1)."""
    if len(children) <= _PLAIN_STRING and all(
        KIND_NAMES[child.kind_id] != "escape_sequence" for child in children
    ):
        return
    try:
        value = literal_text.decoded_string(walk.text(node))
    except literal_text.InvalidLiteralError as error:
        raise fail(str(error), node) from error
    if value.octal and place.frame.strict:
        raise fail("an octal escape in strict code", node)


def number(walk: Walk, node: Node, _children: list[Node], place: Place) -> None:
    """Check how a number is written, and that no name or digit follows it directly (§12.9.3)."""
    text = walk.text(node)
    if _runs_on(walk, node):
        raise fail("a name or a digit directly behind a number", node)
    if text.isdigit() and (text[0] != ord("0") or len(text) == 1):
        return
    source = text.decode("ascii", "replace")
    try:
        if literal_text.is_bigint(source):
            literal_text.bigint_text(source)
            return
        value = literal_text.number(source)
    except literal_text.InvalidLiteralError as error:
        raise fail(str(error), node) from error
    if value.legacy and place.frame.strict:
        raise fail("a number that begins with a zero in strict code", node)


def _runs_on(walk: Walk, node: Node) -> bool:
    """Whether a name or a digit follows a literal directly; white space may be what is not ASCII."""
    after = walk.source[node.end_byte : node.end_byte + 1]
    if not after or after[0] <= _LAST_ASCII:
        return bool(after) and after[0] in _AFTER_LITERAL
    return UNUSUAL_SPACE.match(walk.source, node.end_byte) is None


def regex(walk: Walk, node: Node, _children: list[Node], _place: Place) -> None:
    """Check a regular expression (§12.9.5.1), and that no name follows its flags directly."""
    if _runs_on(walk, node):
        raise fail("a name or a digit directly behind a regular expression", node)
    try:
        regexp_text(walk.text(node).decode("utf-8", "replace"))
    except InvalidRegExpError as error:
        raise fail(f"a regular expression: {error}", node) from error


def template(walk: Walk, node: Node, children: list[Node], place: Place) -> None:
    """Check the escapes of a template without a tag (§13.2.8.1)."""
    _template(walk, node, children, place, tagged=False)


def _template(walk: Walk, node: Node, children: list[Node], place: Place, *, tagged: bool) -> None:
    start = node.start_byte + 1
    escaped = b"\\" in walk.text(node)
    for child in [*children[1:-1], children[-1]]:
        if child is not children[-1] and KIND_NAMES[child.kind_id] != "template_substitution":
            continue
        if escaped:
            _chunk(walk, node, start, child.start_byte, tagged=tagged)
        start = child.end_byte
        if child is not children[-1]:
            walk.push_all(walk.children(child), place)


def _chunk(walk: Walk, node: Node, start: int, end: int, *, tagged: bool) -> None:
    try:
        chunk = literal_text.template_chunk(walk.source[start:end])
    except literal_text.InvalidLiteralError as error:
        raise fail(str(error), node) from error
    if chunk.cooked is None and not tagged:
        raise fail("an escape that a template must not have", node)


def name(walk: Walk, node: Node, _children: list[Node], place: Place) -> None:
    """Check an identifier that is read."""
    name_errors.check_reference(walk, node, place)


_CONTEXTUAL: Final = frozenset({"get", "set", "static", "async"})


def property_name(walk: Walk, node: Node, _children: list[Node], _place: Place) -> None:
    """Check the characters of a property's name; a word that could be a modifier is not escaped."""
    if name_errors.decoded(walk, node) in _CONTEXTUAL and b"\\" in walk.text(node):
        raise fail("an escaped word that is a keyword in some places", node)


def member(walk: Walk, node: Node, children: list[Node], place: Place) -> None:
    """Check ``a.b``, ``a?.b`` and ``a[b]``."""
    target = children[0]
    kind = KIND_NAMES[target.kind_id]
    optional = KIND_NAMES[children[1].kind_id] == "optional_chain"
    last = children[-1]
    if kind == "super":
        if (
            not place.frame.super_property
            or optional
            or KIND_NAMES[last.kind_id] == "private_property_identifier"
        ):
            raise fail("super outside of a method, or with an optional chain or private name", target)
    elif walk.awaits and kind == "identifier" and is_await_head(node, walk.source):
        _await_head(node, children, place)
    else:
        operand_errors.callee(target, walk)
        walk.push(target, place)
    if KIND_NAMES[last.kind_id] == "private_property_identifier":
        name_errors.private_name(walk, last, place)
    elif KIND_NAMES[node.kind_id] == "subscript_expression":
        walk.push(children[-2], place)
    else:
        walk.push(last, place)


def call(walk: Walk, node: Node, children: list[Node], place: Place) -> None:
    """Check a call, a tagged template, ``super(…)`` and ``import(…)``."""
    target, last = children[0], children[-1]
    kind = KIND_NAMES[target.kind_id]
    tagged = KIND_NAMES[last.kind_id] == "template_string"
    if kind == "super":
        if tagged or len(children) > 2 or not place.frame.super_call:  # noqa: PLR2004
            raise fail("super() outside of the constructor of a derived class", target)
    elif kind == "import":
        parts = [child for child in walk.children(last) if child.is_named]
        spread = any(KIND_NAMES[part.kind_id] == "spread_element" for part in parts)
        if tagged or len(children) > 2 or spread or not 0 < len(parts) <= _MOST_IMPORT_ARGUMENTS:  # noqa: PLR2004
            raise fail("import() takes a specifier and options", node)
    elif walk.awaits and kind == "identifier" and is_await_head(node, walk.source):
        _await_head(node, children, place)
        if not tagged:
            _await_brackets(walk, node, last, place)
            return
        _template(walk, last, walk.children(last), place, tagged=False)
        return
    else:
        operand_errors.callee(target, walk)
        walk.push(target, place)
    if not tagged:
        walk.push_all(walk.children(last), place)
        return
    if name_errors.has_optional_link(node, walk):
        raise fail("a template in an optional chain", node)
    _template(walk, last, walk.children(last), place, tagged=True)


def _await_head(node: Node, children: list[Node], place: Place) -> None:
    """Check an operator that the tree takes for a name: no member and no ``?.`` follows it directly."""
    misread = KIND_NAMES[children[1].kind_id] in {"arguments", "template_string", "["}
    if not place.frame.is_async or place.frame.parameters or not misread:
        raise fail("await as a name, or where ECMA-262 does not allow it", node)


def _await_brackets(walk: Walk, node: Node, brackets: Node, place: Place) -> None:
    """Check ``await (…)``, whose brackets hold an expression."""
    parts = walk.children(brackets)[1:-1]
    if (
        not parts
        or not parts[-1].is_named
        or any(KIND_NAMES[part.kind_id] == "spread_element" for part in parts)
    ):
        raise fail("the operand of await is no expression", node)
    walk.push_all(parts, place)


def new(walk: Walk, _node: Node, children: list[Node], place: Place) -> None:
    """Check the operand of ``new``."""
    operand_errors.constructed(children[1], walk)
    walk.push_all(children[1:2], place)
    if KIND_NAMES[children[-1].kind_id] == "arguments":
        walk.push_all(walk.children(children[-1]), place)


def meta(walk: Walk, node: Node, children: list[Node], place: Place) -> None:
    """Check ``new.target`` and ``import.meta`` (§13.3.1.1)."""
    if KIND_NAMES[children[-1].kind_id] == "target":
        if not place.frame.new_target:
            raise fail("new.target outside of a function", node)
    elif not walk.module:
        raise fail("import.meta outside of a module", node)


def assignment(walk: Walk, _node: Node, children: list[Node], place: Place) -> None:
    """Check the target of ``=`` (§13.15.1)."""
    target = children[0]
    if KIND_NAMES[target.kind_id] in _PATTERNS:
        name_errors.assignment_pattern(walk, target, place)
    else:
        name_errors.simple_target(walk, target, place)
    walk.push(children[-1], place)


def compound(walk: Walk, _node: Node, children: list[Node], place: Place) -> None:
    """Check the target of ``+=`` and the like."""
    name_errors.simple_target(walk, children[0], place)
    walk.push(children[-1], place)


def update(walk: Walk, node: Node, children: list[Node], place: Place) -> None:
    """Check the target of ``++`` and ``--``; a postfix operator is on the line of its operand (§12.10.1)."""
    postfix = children[0].is_named
    target = children[0] if postfix else children[1]
    if postfix and LINE_BREAK.search(walk.source, target.end_byte, children[1].start_byte):
        raise fail("a line break in front of a postfix operator", node)
    operand_errors.require(target, operand_errors.LEFT if postfix else operand_errors.UNARY, walk)
    name_errors.simple_target(walk, target, place)


def unary(walk: Walk, node: Node, children: list[Node], place: Place) -> None:
    """Check a unary operator; ``delete`` takes no name in strict code and never a private one (§13.5.1.1)."""
    if KIND_NAMES[children[0].kind_id] == "delete":
        target = name_errors.inner(children[1], walk)
        kind = KIND_NAMES[target.kind_id]
        if place.frame.strict and kind in {"identifier", "undefined"}:
            raise fail("delete of a name in strict code", node)
        if kind == "member_expression" and (
            KIND_NAMES[walk.children(target)[-1].kind_id] == "private_property_identifier"
        ):
            raise fail("delete of a private name", node)
    operand_errors.unary(walk, node, children, place)


def awaiting(walk: Walk, node: Node, children: list[Node], place: Place) -> None:
    """Check that ``await`` is allowed here (§15.8.1)."""
    if not place.frame.is_async or place.frame.parameters:
        raise fail("await outside of an async function, or in parameters", node)
    operand_errors.unary(walk, node, children, place)


def yielding(walk: Walk, node: Node, children: list[Node], place: Place) -> None:
    """Check that ``yield`` is allowed here (§15.5.1); its operand begins on its line."""
    if not place.frame.generator or place.frame.parameters:
        raise fail("yield outside of a generator, or in parameters", node)
    if len(children) > 1:
        if LINE_BREAK.search(walk.source, children[0].end_byte, children[1].start_byte):
            raise fail("a line break behind yield", node)
        walk.push(children[-1], place)


def sequence(walk: Walk, _node: Node, children: list[Node], place: Place) -> None:
    """Visit the expressions of a comma operator."""
    for child in children:
        if child.is_named:
            operand_errors.require(child, operand_errors.ASSIGNMENT, walk)
    walk.push_all(children, place)


def misplaced(_walk: Walk, node: Node, _children: list[Node], _place: Place) -> None:
    """Refuse what only its parent may visit: ``super``, ``import``, a pattern, a private name."""
    raise fail(f"{KIND_NAMES[node.kind_id]} where ECMA-262 does not allow it", node)
