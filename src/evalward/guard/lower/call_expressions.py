"""Members, calls and their arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from evalward.guard.domain.atoms import V_ANY_STRING, number, of
from evalward.guard.domain.instructions import Op
from evalward.guard.lower.enumeration import callback_of
from evalward.guard.lower.node_kinds import kinds
from evalward.guard.syntax import literals

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from tree_sitter import Node

    from evalward.guard.lower.builder import Builder
    from evalward.guard.lower.lowering import Handler, Lowering, Work

_LITERAL_PARTS = kinds(
    *("string", "string_fragment", "escape_sequence", "number", "true", "false", "null", "comment"),
    *("binary_expression", "unary_expression", "parenthesized_expression", "array"),
    *("template_string", "template_substitution"),
)
_NAMED = kinds("function_expression", "arrow_function", "class", "generator_function")
_SPREAD = kinds("spread_element")
_SUBSCRIPT = kinds("subscript_expression")
_PARENTHESES = kinds("parenthesized_expression")
_IDENTIFIER = kinds("identifier")
_STRING = kinds("string")
_TEMPLATE = kinds("template_string")
_OTHER_CALLS = kinds("identifier", "import", "super")
_PROPERTY_NAMES = kinds("property_identifier", "private_property_identifier")
MEMBERS = kinds("member_expression", "subscript_expression")


def template_parts(lowering: Lowering, node: Node) -> Generator[Any, int, list[tuple[int, bool]]]:
    """Return the registers of a template's chunks and substitutions; the flag marks a substitution.

    Chunks are what stands between the substitutions: the tree splits them at escapes.
    """
    build = lowering.build
    parts: list[tuple[int, bool]] = []
    position = node.start_byte + 1
    for child in build.children(node):
        if child.type != "template_substitution":
            continue
        parts.append((_chunk(build, position, child.start_byte), False))
        inner = build.children(child)
        if inner:
            parts.append(((yield lowering.lower(inner[0])), True))
        position = child.end_byte
    parts.append((_chunk(build, position, node.end_byte - 1), False))
    return parts


def _chunk(build: Builder, begin: int, stop: int) -> int:
    value = literals.template_chunk(build.source[begin:stop].decode())
    return build.constant(V_ANY_STRING if value is None else of(value))


def argument(lowering: Lowering, node: Node) -> Work:
    """Return an element's register, or its complement when the element is spread."""
    return _spread(lowering, node) if node.kind_id in _SPREAD else lowering.lower(node)


def _spread(lowering: Lowering, node: Node) -> Work:
    return ~(yield lowering.lower(lowering.build.children(node)[0]))


def named(lowering: Lowering, node: Node, name: str | int) -> Work:
    """Lower a value that gets its name from the target of the assignment (NamedEvaluation)."""
    if node.kind_id in _NAMED and isinstance(name, str):
        return lowering.named_function(node, name)
    return lowering.lower(node)


def property_key(lowering: Lowering, node: Node) -> Generator[Any, int, str | int]:
    """Return a property's name, or the register of a computed one."""
    build = lowering.build
    if node.kind_id in _PROPERTY_NAMES:
        return build.name(node)
    match node.type:
        case "computed_property_name":
            return (yield lowering.lower(build.children(node)[0]))
        case "string":
            value = literals.unescape(build.text(node)[1:-1])
            return value if value is not None else build.constant(V_ANY_STRING)
        case "number":
            number_value = literals.number(build.text(node))
            return number(number_value).text if number_value is not None else build.constant(V_ANY_STRING)
        case _:
            return build.name(node)


def member(lowering: Lowering, node: Node) -> Generator[Any, int, tuple[int, str | int]]:
    """Return the register of a member's object, and its name or its computed key's register."""
    build = lowering.build
    parts = build.parts(node)
    target = parts[0]
    if node.kind_id not in _SUBSCRIPT:
        register = lowering.lower(target)
        if type(register) is not int:
            register = yield register
        return register, build.name(parts[-1])
    index = parts[-2]
    if target.kind_id in _IDENTIFIER and build.text(target) == "await":
        # `await [x]`: the tree reads the operator as a name, and the array as a subscript.
        elements: list[int] = []
        for child in _sequence(build, index):
            elements.append((yield lowering.lower(child)))  # noqa: PERF401  a comprehension cannot yield
        array = build.emit(Op.ARRAY, node, tuple(elements), False)
        holder = build.emit(Op.OBJECT, node, (("init", "array", array),))
        build.awaiting.add(holder)
        return holder, "array"
    register = yield lowering.lower(target)
    if index.kind_id in _STRING:
        return register, (yield from property_key(lowering, index))
    by_name = lowering.stretches.listing and index.kind_id in _IDENTIFIER and target.kind_id in _IDENTIFIER
    subject = build.lowered.references[-1] if by_name else None
    key = yield lowering.lower(index)
    if _is_closed(index):
        build.lowered.closed.add(key)
    if subject is not None:
        name_use = build.lowered.references[-1]
        for listing in lowering.stretches.listing:
            listing.reads.append((key, subject, name_use, build.unit))
    return register, key


def _sequence(build: Builder, node: Node) -> list[Node]:
    """Return the operands of a comma expression, however the tree nests them."""
    found: list[Node] = []
    pending = [node]
    while pending:
        current = pending.pop()
        if current.type == "sequence_expression":
            pending.extend(reversed(build.children(current)))
        else:
            found.append(current)
    return found


def _is_closed(node: Node) -> bool:
    """Whether an expression consists of literals only."""
    pending = [node]
    while pending:
        current = pending.pop()
        if current.kind_id not in _LITERAL_PARTS:
            return False
        pending.extend(current.named_children)
    return True


def unwrapped(build: Builder, node: Node) -> Node:
    """Return the expression inside any number of parentheses."""
    while node.kind_id in _PARENTHESES:
        node = build.children(node)[0]
    return node


def _lower_call_expression(lowering: Lowering, node: Node) -> Work:
    build = lowering.build
    parts = build.parts(node)
    function, arguments = unwrapped(build, parts[0]), parts[-1]
    if arguments.kind_id in _TEMPLATE:
        return (yield _tagged(lowering, node, function, arguments))
    kind = function.kind_id
    if kind in MEMBERS:
        called_back = callback_of(node, build.source) if lowering.stretches.may_list else None
        if called_back is not None:
            subject, callback, position = called_back
            listing = lowering.stretches.list_keys(subject, lister="Object", index=position)
            lowering.stretches.callbacks[callback.start_byte] = listing
        target, key = yield from member(lowering, function)
        registers = yield from argument_list(lowering, arguments)
        if called_back is not None:
            listing.last = len(build.unit.code)
        register = build.emit(Op.CALL_METHOD, node, target, key, registers)
        build.chained(build.chained(register, target, build.parts(function)), register, parts)
        return build.awaited(register, target, node)
    if kind in _OTHER_CALLS and (kind not in _IDENTIFIER or build.text(function) == "await"):
        registers = yield from argument_list(lowering, arguments)
        if function.type == "import":
            return build.emit(Op.IMPORT, node, registers)
        if function.type == "super":
            return build.emit(Op.SUPER_CALL, node, build.this_unit().index, registers)
        value = registers[-1] if registers else build.undefined
        build.awaiting.add(value)
        return build.awaited(value, value, node)
    callee = lowering.lower(function)
    if type(callee) is not int:
        callee = yield callee
    registers = yield from argument_list(lowering, arguments)
    register = build.chained(build.emit(Op.CALL, node, callee, registers), callee, parts)
    return build.awaited(register, callee, node)


def argument_list(lowering: Lowering, node: Node) -> Generator[Any, int, tuple[int, ...]]:
    """Return the registers of call arguments, the complement for a spread one."""
    registers = []
    for child in lowering.build.children(node):
        register = argument(lowering, child)
        registers.append(register if type(register) is int else (yield register))
    return tuple(registers)


def _tagged(lowering: Lowering, node: Node, function: Node, template: Node) -> Work:
    build = lowering.build
    if function.kind_id in MEMBERS:
        callee: tuple[int, str | int | None] = yield from member(lowering, function)
    else:
        callee = ((yield lowering.lower(function)), None)
    parts = yield from template_parts(lowering, template)
    chunks = tuple(register for register, substitution in parts if not substitution)
    values = tuple(register for register, substitution in parts if substitution)
    raw = build.emit(Op.ARRAY, template, _raw_chunks(build, template), False)
    strings = build.emit(Op.ARRAY, node, chunks, False)
    return build.emit(Op.TAGGED, node, callee, (strings, raw), values)


def _raw_chunks(build: Builder, template: Node) -> tuple[int, ...]:
    """Return the registers of a template's raw chunks (ECMA-262 §13.2.8)."""
    chunks: list[int] = []
    position = template.start_byte + 1
    for child in build.children(template):
        if child.type == "template_substitution":
            chunks.append(_raw_chunk(build, position, child.start_byte))
            position = child.end_byte
    chunks.append(_raw_chunk(build, position, template.end_byte - 1))
    return tuple(chunks)


def _raw_chunk(build: Builder, begin: int, stop: int) -> int:
    text = build.source[begin:stop].decode().replace("\r\n", "\n").replace("\r", "\n")
    return build.constant(of(text))


def _lower_new_expression(lowering: Lowering, node: Node) -> Work:
    constructor = node.child_by_field_name("constructor")
    assert constructor is not None  # noqa: S101 - the grammar requires it
    callee = yield lowering.lower(constructor)
    arguments = node.child_by_field_name("arguments")
    registers = (yield from argument_list(lowering, arguments)) if arguments is not None else ()
    return lowering.build.emit(Op.NEW, node, callee, registers)


HANDLERS: Final[Mapping[str, Handler]] = {
    "call_expression": _lower_call_expression,
    "new_expression": _lower_new_expression,
}
