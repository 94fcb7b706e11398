"""Reading expressions: literals, operators, assignments, objects (ECMA-262 §13)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evalward.guard.harden.function_tree import Class, Function
from evalward.guard.harden.literal_text import bigint_text, decoded_string, is_bigint, number_text
from evalward.guard.harden.read_chains import spread
from evalward.guard.harden.read_classes import class_
from evalward.guard.harden.read_functions import function, read_method
from evalward.guard.harden.read_patterns import NAMES, key, pattern, private_use, target_name
from evalward.guard.harden.reader import token
from evalward.guard.harden.regexp import regexp_text
from evalward.guard.harden.scopes import Access
from evalward.guard.harden.tree import (
    Array,
    ArrayPattern,
    Assign,
    Await,
    Binary,
    Conditional,
    Expression,
    Home,
    Key,
    Literal,
    Name,
    Object,
    ObjectPattern,
    Paren,
    PrivateIn,
    Property,
    Regex,
    Sequence,
    Text,
    This,
    Unary,
    Update,
    Yield,
)
from evalward.guard.syntax.grammar import kind, kinds

if TYPE_CHECKING:
    from tree_sitter import Node

    from evalward.guard.harden.reader import ExpressionHandler, Reader

_BINARY: Final = kind("binary_expression")
_TERNARY: Final = kind("ternary_expression")
_SPREAD: Final = kind("spread_element")
_PAIR: Final = kind("pair")
_METHOD: Final = kind("method_definition")
_SHORTHAND: Final = kind("shorthand_property_identifier")
_PRIVATE: Final = kind("private_property_identifier")
_PARENTHESIZED: Final = kind("parenthesized_expression")
_STAR: Final = token("*")
_COMMA: Final = token(",")
_PRECEDENCE: Final = {
    operator: level
    for level, operators in enumerate(
        (
            "??",
            "||",
            "&&",
            "|",
            "^",
            "&",
            "== != === !==",
            "< <= > >= instanceof in",
            "<< >> >>>",
            "+ -",
            "* / %",
        )
    )
    for operator in operators.split()
}
_FUNCTION_VALUES: Final = kinds("function_expression", "generator_function", "arrow_function")


def _name(reader: Reader, node: Node) -> Name:
    found = Name(reader.name(node), node.start_byte)
    reader.scopes.refer(found, Access.READ)
    return found


def _this(reader: Reader, _: Node) -> This:
    return This(reader.strict)


def _word(reader: Reader, node: Node) -> Literal:
    return Literal(reader.text(node))


def _number(reader: Reader, node: Node) -> Literal:
    text = reader.text(node)
    return Literal(reader.decoded(node, bigint_text if is_bigint(text) else number_text, text))


def _string(reader: Reader, node: Node) -> Text:
    return Text(reader.noted(reader.decoded(node, decoded_string, reader.raw(node)).value))


def _regex(reader: Reader, node: Node) -> Regex:
    source = reader.text(node)
    pattern, _, flags = source[1:].rpartition("/")
    text = reader.noted(reader.decoded(node, regexp_text, source))
    return Regex(text, None if text == source else (pattern, flags))


def _array(reader: Reader, node: Node) -> Array:
    elements: list[Expression | None] = []
    hole = True
    for child in reader.children(node)[1:-1]:
        if child.kind_id == _COMMA:
            if hole:
                elements.append(None)
            hole = True
        else:
            elements.append(spread(reader, child) if child.kind_id == _SPREAD else reader.expression(child))
            hole = False
    return Array(elements)


def _object(reader: Reader, node: Node) -> Object:
    home = Home(is_class=False)
    properties: list[Property] = []
    for child in reader.children(node)[1:-1]:
        own = child.kind_id
        if own == _COMMA:
            continue
        if own == _PAIR:
            name, _, value = reader.children(child)
            properties.append(Property(key(reader, name), reader.expression(value)))
            _keyed(reader, properties[-1])
        elif own == _SHORTHAND:
            found = _name(reader, child)
            properties.append(Property(Key(found.name), found, shorthand=True))
        elif own == _SPREAD:
            properties.append(Property(None, spread(reader, child)))
        elif own == _METHOD:
            saved, reader.home = reader.home, home
            name_of, method, _ = read_method(reader, child)
            reader.home = saved
            properties.append(Property(name_of, method, method=True))
        else:
            reader.unknown(child)
    return Object(properties, home)


def _keyed(reader: Reader, read: Property) -> None:
    if reader.sendings is not None and isinstance(read.value, Function) and read.key and read.key.value:
        reader.sendings.keyed[read.key.value].append(read.value)


def _paren(reader: Reader, node: Node) -> Paren:
    return Paren(reader.expression(reader.children(node)[1]))


def _sequence(reader: Reader, node: Node) -> Sequence:
    return Sequence([reader.expression(child) for child in reader.children(node) if child.kind_id != _COMMA])


def _function(reader: Reader, node: Node) -> Function:
    return function(reader, node, "function")


def _arrow(reader: Reader, node: Node) -> Function:
    return function(reader, node, "arrow")


def _class(reader: Reader, node: Node) -> Class:
    return class_(reader, node)


def _binary(reader: Reader, node: Node) -> Expression:
    """Read a chain of operators of one precedence without recursion."""
    left, operator, right = reader.children(node)
    word = reader.text(operator)
    if left.kind_id == _PRIVATE:
        return PrivateIn(private_use(reader, left), reader.expression(right))
    level = _PRECEDENCE.get(word)
    rest = [(word, right)]
    while level is not None and left.kind_id == _BINARY:
        further, operator, right = reader.children(left)
        word = reader.text(operator)
        if _PRECEDENCE.get(word) != level or further.kind_id == _PRIVATE:
            break
        rest.append((word, right))
        left = further
    first = reader.expression(left)
    return Binary(first, [(each, reader.expression(operand)) for each, operand in reversed(rest)])


def _ternary(reader: Reader, node: Node) -> Conditional:
    arms: list[tuple[Expression, Expression]] = []
    while node.kind_id == _TERNARY:
        condition, _, consequence, _, node = reader.children(node)
        arms.append((reader.expression(condition), reader.expression(consequence)))
    return Conditional(arms, reader.expression(node))


def _unary(reader: Reader, node: Node) -> Expression:
    operator, operand = reader.children(node)
    return Unary(reader.text(operator), reader.expression(operand), reader.strict)


def _update(reader: Reader, node: Node) -> Update:
    first, second = reader.children(node)
    prefix = not first.is_named
    operator, operand = (first, second) if prefix else (second, first)
    target = pattern(reader, operand, "")
    if isinstance(target, ArrayPattern | ObjectPattern):
        reader.unknown(operand)
    return Update(reader.text(operator), prefix, target, reader.strict)


def _assign(reader: Reader, node: Node) -> Assign:
    left, operator, right = reader.children(node)
    word = reader.text(operator)
    named = left.kind_id in NAMES
    if named:
        makes = right.kind_id in _FUNCTION_VALUES and word == "="
        target: Expression = target_name(reader, left, "", Access.MAKE if makes else Access.WRITE)
    else:
        target = pattern(reader, left, "")
        if word != "=" and isinstance(target, ArrayPattern | ObjectPattern):
            reader.unknown(left)
        if left.kind_id == _PARENTHESIZED and isinstance(target, Name):
            target = Paren(target)  # it gives no name to an anonymous function
    value = reader.expression(right)
    if reader.sendings is not None and isinstance(target, Name) and isinstance(value, Function):
        reader.sendings.named.append((target, value))
    return Assign(word, target, value, reader.strict)


def _await(reader: Reader, node: Node) -> Await:
    if not reader.asynchronous:
        reader.refuse(node, "await outside of an async function.")
    return Await(reader.expression(reader.children(node)[1]))


def _yield(reader: Reader, node: Node) -> Yield:
    children = reader.children(node)
    delegate = len(children) > 1 and children[1].kind_id == _STAR
    operand = children[-1] if len(children) > 1 else None
    return Yield(None if operand is None else reader.expression(operand), delegate)


HANDLERS: Final[dict[int, ExpressionHandler]] = {
    **dict.fromkeys(NAMES, _name),
    kind("this"): _this,
    **dict.fromkeys(kinds("true", "false", "null"), _word),
    kind("number"): _number,
    kind("string"): _string,
    kind("regex"): _regex,
    kind("array"): _array,
    kind("object"): _object,
    _PARENTHESIZED: _paren,
    kind("sequence_expression"): _sequence,
    **dict.fromkeys(kinds("function_expression", "generator_function"), _function),
    kind("arrow_function"): _arrow,
    kind("class"): _class,
    _BINARY: _binary,
    _TERNARY: _ternary,
    kind("unary_expression"): _unary,
    kind("update_expression"): _update,
    **dict.fromkeys(kinds("assignment_expression", "augmented_assignment_expression"), _assign),
    kind("await_expression"): _await,
    kind("yield_expression"): _yield,
}
