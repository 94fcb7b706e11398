"""Reading functions and classes (ECMA-262 §15)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evalward.guard.harden.function_tree import Block, Function, FunctionDeclaration
from evalward.guard.harden.read_patterns import element, key, pattern
from evalward.guard.harden.reader import token
from evalward.guard.harden.scopes import Level
from evalward.guard.harden.tree import Element, Key, Name
from evalward.guard.syntax.grammar import kind, kinds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node

    from evalward.guard.harden.reader import Reader

_PARAMETERS: Final = kind("formal_parameters")
_BLOCK: Final = kind("statement_block")
_NAME: Final = kind("identifier")
_REST: Final = kind("rest_pattern")
_STRING: Final = kind("string")
_EXPRESSION_STATEMENT: Final = kind("expression_statement")
_ASYNC: Final = token("async")
_STAR: Final = token("*")
_GET: Final = token("get")
_SET: Final = token("set")
_STATIC: Final = token("static")
_FUNCTION: Final = token("function")
_ARROW: Final = token("=>")
_COMMA: Final = token(",")
_FUNCTION_DECLARATIONS: Final = kinds("function_declaration", "generator_function_declaration")
_USE_STRICT: Final = (b'"use strict"', b"'use strict'")


def has_directive(reader: Reader, statements: Sequence[Node]) -> bool:
    """Say whether statements begin with the directive ``use strict`` (ECMA-262 §11.2.1)."""
    for node in statements:
        if node.kind_id != _EXPRESSION_STATEMENT:
            return False
        inner = reader.children(node)[0]
        if inner.kind_id != _STRING:
            return False
        if reader.raw(inner) in _USE_STRICT:
            return True
    return False


def statements(reader: Reader, nodes: Sequence[Node], line: int, *, top: bool) -> Block:
    """Read the statements of one scope; ``top`` says that functions are declared as variables here."""
    block = Block(line, [])
    for node in nodes:
        read = function_declaration(reader, node, top=top) if node.kind_id in _FUNCTION_DECLARATIONS else None
        block.statements.append(reader.statement(node) if read is None else read)
        if read is not None:
            block.functions.append(read)
    return block


def function_declaration(reader: Reader, node: Node, *, top: bool) -> FunctionDeclaration:
    """Read a function declaration at the top of a function or program, or in a block."""
    found = function(reader, node, "function")
    name = found.name or ""
    scopes = reader.scopes
    if top:
        binding = scopes.declare_variable(name, "function")
    else:
        present = scopes.current.names.get(name)
        if present is not None and (reader.strict or present.kind != "block function"):
            reader.refuse(node, "A name is declared twice.")
        plain = not found.asynchronous and not found.generator and not reader.strict
        binding = scopes.declare(name, "block function" if plain else "let")
    binding.writes += 1
    binding.made += 1
    if reader.sendings is not None:
        reader.sendings.named.append((binding, found))
    read = FunctionDeclaration(reader.line(node), found, binding, top=top)
    if not top and not reader.strict and not found.asynchronous and not found.generator:
        variable = Name(name, node.start_byte)

        def accept() -> None:
            read.variable = variable

        scopes.block_function(variable, accept)
    return read


def function(reader: Reader, node: Node, kind_of: str) -> Function:
    """Read a function expression or declaration, or an arrow function."""
    read = Function(kind_of, False, False, reader.offset(node.start_byte), reader.offset(node.end_byte))
    read.line = reader.line(node)
    signature: list[Node] = []
    for child in reader.children(node):
        own = child.kind_id
        if own == _ASYNC:
            read.asynchronous = True
        elif own == _STAR:
            read.generator = True
        elif own not in (_FUNCTION, _ARROW):
            signature.append(child)
    if kind_of == "function" and signature[0].kind_id != _PARAMETERS:
        read.name = reader.name(signature.pop(0))
    parameters, body = signature
    named = node.kind_id not in _FUNCTION_DECLARATIONS and read.name is not None
    if not named:
        _code(reader, read, parameters, body)
        return read
    scope = reader.scopes.open(Level.BLOCK)
    read.self = reader.scopes.declare(read.name or "", "function name")
    read.self.writes = read.self.made = 1
    _code(reader, read, parameters, body)
    reader.scopes.close(scope)
    return read


def read_method(reader: Reader, node: Node, *, derived: bool | None = None) -> tuple[Key, Function, bool]:
    """Read a method: its key, its function, and whether it is static.

    ``derived`` says of a class whether it has a heritage; it is None for an object literal.
    """
    read = Function("method", False, False, reader.offset(node.start_byte), reader.offset(node.end_byte))
    read.line = reader.line(node)
    static = False
    children = reader.children(node)
    *words, name, parameters, body = children
    for word in words:
        own = word.kind_id
        if own == _STATIC:
            static = True
        elif own == _ASYNC:
            read.asynchronous = True
        elif own == _STAR:
            read.generator = True
        elif own == _GET:
            read.kind = "get"
        elif own == _SET:
            read.kind = "set"
        elif reader.text(word).split() == ["static", "get"]:
            static, read.kind = True, "get"
        else:
            reader.unknown(word)
    if static:
        # The source of a static method begins behind the word (ECMA-262 §15.7.1).
        follower = children[1]
        read.start = reader.offset(follower.start_byte if words[0].kind_id == _STATIC else words[0].end_byte)
    found = key(reader, name)
    if derived is not None and not static and found.value == "constructor":
        read.kind = "constructor"
        read.derived = derived
    was_static, reader.static = reader.static, static
    _code(reader, read, parameters, body)
    reader.static = was_static
    return found, read, static


def _code(reader: Reader, read: Function, parameters: Node, body: Node) -> None:
    """Read parameters and body in scopes of their own."""
    scopes = reader.scopes
    saved = reader.strict, reader.asynchronous, reader.labels
    saved_place = reader.function_kind, reader.home, reader.derived
    arrow = read.kind == "arrow"
    inner = reader.children(body)[1:-1] if body.kind_id == _BLOCK else []
    read.directive = bool(inner) and has_directive(reader, inner)
    reader.strict = read.strict = reader.strict or read.directive
    reader.asynchronous = read.asynchronous
    reader.labels = {}
    if not arrow:
        reader.function_kind, reader.derived = read.kind, read.derived
        if read.kind == "function":
            reader.home = None
    outer = scopes.open(Level.ARROW if arrow else Level.FUNCTION)
    _parameters(reader, read, parameters)
    outer.parameters = frozenset(outer.names)
    scope = outer if read.simple else scopes.open(Level.BODY)
    if body.kind_id == _BLOCK:
        read.body = statements(reader, inner, reader.line(body), top=True)
    else:
        read.value = reader.expression(body)
    read.scope = outer
    read.variables = scope.variables
    scopes.close(outer)
    reader.strict, reader.asynchronous, reader.labels = saved
    reader.function_kind, reader.home, reader.derived = saved_place


def _parameters(reader: Reader, read: Function, node: Node) -> None:
    nodes = [node] if node.kind_id != _PARAMETERS else reader.children(node)[1:-1]
    for child in nodes:
        own = child.kind_id
        if own == _COMMA:
            continue
        if own == _REST:
            read.rest = pattern(reader, reader.children(child)[1], "parameter")
            read.simple = False
            continue
        found: Element = element(reader, child, "parameter")
        read.parameters.append(found)
        if found.default is not None or not isinstance(found.target, Name):
            read.simple = False
