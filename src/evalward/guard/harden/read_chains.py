"""Reading chains: member reads, calls and tags, with ``?.`` or not (ECMA-262 §13.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evalward.guard.constructs import dynamic_import, eval_call, import_meta
from evalward.guard.harden.literal_text import template_chunk
from evalward.guard.harden.read_patterns import NAMES, private_use
from evalward.guard.harden.reader import token
from evalward.guard.harden.scopes import Access
from evalward.guard.harden.tree import (
    Array,
    Await,
    Chain,
    Expression,
    Link,
    Literal,
    Name,
    New,
    NewTarget,
    Paren,
    Sequence,
    Spread,
    Super,
    Template,
)
from evalward.guard.syntax.grammar import kind, kinds

if TYPE_CHECKING:
    from tree_sitter import Node

    from evalward.guard.harden.reader import ExpressionHandler, Reader

_MEMBER: Final = kinds("member_expression")
_CALL: Final = kind("call_expression")
_SUBSCRIPT: Final = kind("subscript_expression")
_OPTIONAL: Final = kind("optional_chain")
_PRIVATE: Final = kind("private_property_identifier")
_PROPERTY: Final = kind("property_identifier")
_TEMPLATE: Final = kind("template_string")
_ARGUMENTS: Final = kind("arguments")
_SUPER: Final = kind("super")
_IMPORT: Final = kind("import")
_SPREAD: Final = kind("spread_element")
_SUBSTITUTION: Final = kind("template_substitution")
_COMMA: Final = token(",")
_DOT: Final = token(".")
_BRACKET: Final = token("[")
_CALL_PARTS, _MEMBER_PARTS, _SUBSCRIPT_PARTS = 2, 3, 4
"""Without ``?.``, which stands instead of the dot of a member."""
_LINKS: Final = frozenset({*_MEMBER, _CALL, _SUBSCRIPT})


def chain(reader: Reader, node: Node) -> Expression:
    """Read a chain of any length without recursion."""
    spine: list[tuple[Node, list[Node]]] = []
    while node.kind_id in _LINKS:
        children = reader.children(node)
        spine.append((node, children))
        node = children[0]
    spine.reverse()
    called = spine[0][0].kind_id == _CALL and spine[0][1][1].kind_id == _ARGUMENTS
    base = _base(reader, node, spine[0][0], called=called)
    links = [_link(reader, each, children) for each, children in spine]
    if isinstance(base, Name) and base.name == "await" and reader.asynchronous:
        return _awaited(reader, node, links)
    found = Chain(base, links)
    if reader.sendings is not None:
        reader.sendings.note(found)
    return found


def _base(reader: Reader, node: Node, first: Node, *, called: bool) -> Expression:
    own = node.kind_id
    if own in NAMES:
        name = Name(reader.name(node), node.start_byte)
        if name.name == "await" and reader.asynchronous:
            return name
        reader.scopes.refer(name, Access.CALL if called else Access.READ)
        if called and name.name == "eval":
            reader.evals.append((name, node))
        return name
    if own == _SUPER:
        if called and not (reader.function_kind == "constructor" and reader.derived):
            reader.refuse(node, "A call of super outside of the constructor of a derived class.")
        if not called and reader.function_kind not in {"method", "get", "set", "constructor", "field"}:
            reader.refuse(node, "super outside of a method.")
        return Super(reader.home, reader.static, reader.strict, node.start_byte)
    if own == _IMPORT:
        reader.refuse(first, "The payload loads a module.", dynamic_import.LABEL)
    found = reader.expression(node)
    inner = found
    while type(inner) is Paren:
        inner = inner.inner
    if called and type(inner) is Name and inner.name == "eval":
        reader.evals.append((inner, node))
    return found


def _link(reader: Reader, node: Node, children: list[Node]) -> Link:
    own = node.kind_id
    last = children[-1]
    kind_of = last.kind_id
    between = children[1].kind_id
    optional = between == _OPTIONAL
    parts = len(children) - optional
    if own == _CALL:
        if parts == _CALL_PARTS and kind_of == _ARGUMENTS:
            return Link(optional, arguments=arguments(reader, last))
        if parts == _CALL_PARTS and kind_of == _TEMPLATE:
            return Link(optional, quasi=template(reader, last))
    elif own == _SUBSCRIPT:
        if parts == _SUBSCRIPT_PARTS:
            return Link(optional, index=reader.expression(children[-2]))
    elif len(children) == _MEMBER_PARTS and (optional or between == _DOT):
        if kind_of == _PROPERTY:
            return Link(optional, reader.name(last))
        if kind_of == _PRIVATE:
            return Link(optional, private=private_use(reader, last))
    return reader.unknown(last)


def _awaited(reader: Reader, node: Node, links: list[Link]) -> Expression:
    """Read ``await (x).y``, which the grammar takes for a call of a function ``await`` (guard.md §4, U4)."""
    first, *rest = links
    base: Expression
    if first.optional:
        reader.unknown(node)
    if first.arguments:
        if any(isinstance(each, Spread) for each in first.arguments):
            reader.unknown(node)
        base = Paren(first.arguments[0] if len(first.arguments) == 1 else Sequence(first.arguments))
    elif first.index is not None:
        indexes = first.index.expressions if isinstance(first.index, Sequence) else [first.index]
        base = Array([*indexes])
    elif first.quasi is not None:
        base = first.quasi
    else:
        reader.unknown(node)
    if not rest:
        return Await(base)
    found = Chain(base, rest)
    if reader.sendings is not None:
        reader.sendings.note(found)
    return Await(found)


def arguments(reader: Reader, node: Node) -> list[Expression]:
    """Read the arguments of a call."""
    return [
        spread(reader, child) if child.kind_id == _SPREAD else reader.expression(child)
        for child in reader.children(node)[1:-1]
        if child.kind_id != _COMMA
    ]


def spread(reader: Reader, node: Node) -> Spread:
    """Read ``...x``."""
    return Spread(reader.expression(reader.children(node)[1]))


def template(reader: Reader, node: Node) -> Template:
    """Read a template; its chunks are the text between the substitutions."""
    cooked: list[str | None] = []
    raw: list[str] = []
    expressions: list[Expression] = []
    start = node.start_byte + 1
    for child in node.children:
        if child.kind_id == _SUBSTITUTION:
            _chunk(reader, node, (start, child.start_byte), cooked, raw)
            expressions.append(reader.expression(reader.children(child)[1]))
            start = child.end_byte
    _chunk(reader, node, (start, node.end_byte - 1), cooked, raw)
    return Template(cooked, raw, expressions)


def _chunk(
    reader: Reader, node: Node, span: tuple[int, int], cooked: list[str | None], raw: list[str]
) -> None:
    chunk = reader.decoded(node, template_chunk, reader.between(*span))
    cooked.append(None if chunk.cooked is None else reader.noted(chunk.cooked))
    raw.append(reader.noted(chunk.raw))


def _untagged(reader: Reader, node: Node) -> Template:
    found = template(reader, node)
    if None in found.cooked:
        reader.refuse(node, "A template holds an invalid escape.")
    return found


def _new(reader: Reader, node: Node) -> New:
    children = reader.children(node)
    callee = children[1]
    given = arguments(reader, children[2]) if len(children) > 2 else []  # noqa: PLR2004
    if callee.kind_id == _IMPORT:
        reader.refuse(node, "The payload loads a module.", dynamic_import.LABEL)
    return New(reader.expression(callee), given)


def _meta_property(reader: Reader, node: Node) -> NewTarget:
    if reader.raw(node).startswith(b"import"):
        reader.refuse(node, "The payload reads import.meta.", import_meta.LABEL)
    if not reader.function_kind:
        reader.refuse(node, "new.target outside of a function.")
    return NewTarget()


def _import(reader: Reader, node: Node) -> Literal:
    reader.refuse(node, "The payload loads a module.", dynamic_import.LABEL)


HANDLERS: Final[dict[int, ExpressionHandler]] = {
    **dict.fromkeys(_LINKS, chain),
    _TEMPLATE: _untagged,
    kind("new_expression"): _new,
    kind("meta_property"): _meta_property,
    _IMPORT: _import,
}
EVAL = eval_call.LABEL
