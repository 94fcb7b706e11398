"""Reading classes and their members (ECMA-262 §15.7)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evalward.guard.harden.function_tree import Class, Member, StaticBlock
from evalward.guard.harden.outcome import RefusedError
from evalward.guard.harden.read_functions import read_method, statements
from evalward.guard.harden.read_patterns import declared, key
from evalward.guard.harden.reader import token
from evalward.guard.harden.scopes import Level
from evalward.guard.harden.statement_tree import ClassDeclaration
from evalward.guard.harden.tree import Expression, Home, Key, PrivateName, PrivateUse
from evalward.guard.syntax.grammar import kind

if TYPE_CHECKING:
    from tree_sitter import Node

    from evalward.guard.harden.reader import Reader

_CLASS: Final = token("class")
_STATIC: Final = token("static")
_SEMICOLON: Final = token(";")
_EQUALS: Final = token("=")
_NAME: Final = kind("identifier")
_HERITAGE: Final = kind("class_heritage")
_BODY: Final = kind("class_body")
_METHOD: Final = kind("method_definition")
_FIELD: Final = kind("field_definition")
_STATIC_BLOCK: Final = kind("class_static_block")


def class_declaration(reader: Reader, node: Node) -> ClassDeclaration:
    """Read a class declaration, which binds its name outside and inside."""
    name = next((child for child in reader.children(node) if child.kind_id == _NAME), None)
    if name is None:
        reader.unknown(node)
    binding = declared(reader, name, reader.name(name), "class")
    binding.writes += 1
    return ClassDeclaration(reader.line(node), class_(reader, node), binding)


def class_(reader: Reader, node: Node) -> Class:
    """Read a class."""
    strict, reader.strict = reader.strict, True
    scope = reader.scopes.open(Level.BLOCK)
    home = Home(is_class=True)
    read = Class(None, None, [], None, home, reader.offset(node.start_byte), reader.offset(node.end_byte))
    names: dict[str, PrivateName] = {}
    body: Node | None = None
    for child in reader.children(node):
        own = child.kind_id
        if own == _NAME:
            read.name = reader.name(child)
            read.inner = reader.scopes.declare(read.name, "class name")
            read.inner.writes = 1
        elif own == _HERITAGE:
            read.heritage = reader.expression(reader.children(child)[1])
        elif own == _BODY:
            body = child
        elif own != _CLASS:
            reader.unknown(child)
    if body is None:
        reader.unknown(node)
    reader.private.append((names, []))
    _members(reader, read, reader.children(body)[1:-1], names)
    uses = reader.private.pop()[1]
    for use in uses:
        use.target = names.get(use.name)
        if use.target is None:
            _pass_on(reader, use, node)
    reader.scopes.close(scope)
    reader.strict = strict
    return read


def _pass_on(reader: Reader, use: PrivateUse, node: Node) -> None:
    """Leave a private name that this class does not declare to the class around it."""
    if not reader.private:
        raise RefusedError("A private name that no class declares.", kind=node.type, start=use.start)
    reader.private[-1][1].append(use)


def _members(reader: Reader, read: Class, nodes: list[Node], names: dict[str, PrivateName]) -> None:
    for child in nodes:
        own = child.kind_id
        if own == _SEMICOLON:
            continue
        line = reader.line(child)
        if own == _METHOD:
            saved, reader.home = reader.home, read.home
            name, function, static = read_method(reader, child, derived=read.heritage is not None)
            reader.home = saved
            if name.private is not None:
                _declare_private(reader, name.private.name, names, method=function.kind == "method")
            read.members.append(Member(name, static, line, function=function))
        elif own == _FIELD:
            read.members.append(_field(reader, read, child, names))
        elif own == _STATIC_BLOCK:
            read.members.append(_static_block(reader, read, child))
        else:
            reader.unknown(child)


def _declare_private(reader: Reader, name: str, names: dict[str, PrivateName], *, method: bool) -> None:
    present = names.get(name)
    if present is None:
        names[name] = PrivateName("#" + reader.scopes.fresh(), method)


def _field(reader: Reader, read: Class, node: Node, names: dict[str, PrivateName]) -> Member:
    children = reader.children(node)
    static = children[0].kind_id == _STATIC
    name_node = children[1 if static else 0]
    name: Key = key(reader, name_node)
    rest = children[2 if static else 1 :]
    if name.private is not None:
        _declare_private(reader, name.private.name, names, method=False)
    value: Expression | None = None
    if rest:
        if rest[0].kind_id != _EQUALS:
            reader.unknown(rest[0])
        value = _inside(reader, read, rest[1], static=static)
    return Member(name, static, reader.line(node), value=value)


def _inside(reader: Reader, read: Class, node: Node, *, static: bool) -> Expression:
    """Read the value of a field, which is the body of a function of its own (ECMA-262 §15.7.14)."""
    saved = reader.asynchronous, reader.labels, reader.function_kind, reader.home, reader.static
    reader.asynchronous, reader.labels = False, {}
    reader.function_kind, reader.home, reader.static = "field", read.home, static
    scope = reader.scopes.open(Level.FIELD)
    value = reader.expression(node)
    reader.scopes.close(scope)
    reader.asynchronous, reader.labels, reader.function_kind, reader.home, reader.static = saved
    return value


def _static_block(reader: Reader, read: Class, node: Node) -> Member:
    saved = reader.asynchronous, reader.labels, reader.function_kind, reader.home, reader.static
    reader.asynchronous, reader.labels = False, {}
    reader.function_kind, reader.home, reader.static = "field", read.home, True
    scope = reader.scopes.open(Level.STATIC)
    body = reader.children(node)[-1]
    block = statements(reader, reader.children(body)[1:-1], reader.line(body), top=True)
    reader.scopes.close(scope)
    reader.asynchronous, reader.labels, reader.function_kind, reader.home, reader.static = saved
    return Member(None, True, reader.line(node), block=StaticBlock(block, scope.variables))
