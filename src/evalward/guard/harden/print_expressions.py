"""Printing operators and literals (harden.md §2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evalward.guard.harden import print_functions
from evalward.guard.harden.function_tree import Function
from evalward.guard.harden.literal_text import name_text, string_text
from evalward.guard.harden.outcome import RefusedError
from evalward.guard.harden.print_calls import is_nullish
from evalward.guard.harden.print_chains import conditional, denial, free, object_of, this_text
from evalward.guard.harden.print_patterns import Steps
from evalward.guard.harden.print_targets import assignment, compound, joined_text, update
from evalward.guard.harden.scopes import DENIED_NAMES
from evalward.guard.harden.tree import (
    Array,
    ArrayPattern,
    Assign,
    Await,
    Binary,
    Chain,
    Conditional,
    Expression,
    Literal,
    Name,
    NewTarget,
    ObjectPattern,
    Paren,
    PrivateIn,
    Regex,
    Sequence,
    Super,
    Template,
    Text,
    This,
    Unary,
    Update,
    Yield,
)

if TYPE_CHECKING:
    from evalward.guard.harden.printer import ExpressionPrinter, Printer
    from evalward.guard.harden.tree import Route


def _literal(_: Printer, node: Literal) -> str:
    return node.text


def _regex(printer: Printer, node: Regex) -> str:
    """Print a regular expression; one that needs other escapes is a string, because they would show in ``source``."""
    if node.parts is None:
        return node.text
    pattern, flags = node.parts
    return f"{printer.run('rx')}({string_text(pattern)},{string_text(flags)})"


def _text(printer: Printer, node: Text) -> str:
    return _sent(printer, node.value, node.routes) if node.routes else string_text(node.value)


def _sent(printer: Printer, text: str, routes: frozenset[Route]) -> str:
    """Print a constant text with the programs that go to other realms instead of it."""
    if printer.programs is None:
        return string_text(text)
    programs = printer.programs.of_text(text, routes, printer.scopes.fresh)
    return f"{printer.run('tx')}({string_text(text)},{programs})"


def _chunk(text: str | None) -> str:
    """Return a chunk of a template: a string's text with the characters that end a chunk escaped."""
    return string_text(text or "")[1:-1].replace("`", "\\`").replace("$", "\\$")


def _template(printer: Printer, node: Template) -> str:
    if node.routes and not node.expressions:
        return _sent(printer, node.cooked[0] or "", node.routes)
    pieces = ["`", _chunk(node.cooked[0])]
    for expression, chunk in zip(node.expressions, node.cooked[1:], strict=True):
        pieces += ("${", joined_text(printer, expression), "}", _chunk(chunk))
    pieces.append("`")
    return "".join(pieces)


def _array(printer: Printer, node: Array) -> str:
    pieces = ["" if each is None else printer.expression(each) for each in node.elements]
    end = "," if node.elements and node.elements[-1] is None else ""
    return f"[{','.join(pieces)}{end}]"


def _this(printer: Printer, node: This) -> str:
    return this_text(printer, strict=node.strict)


def _new_target(printer: Printer, _: NewTarget) -> str:
    return f"{printer.run('v')}(new.target)"


def _paren(printer: Printer, node: Paren) -> str:
    return printer.expression(node.inner)


def _sequence(printer: Printer, node: Sequence) -> str:
    return f"({','.join([printer.expression(each) for each in node.expressions])})"


def _binary(printer: Printer, node: Binary) -> str:
    joins = node.rest[0][0] in {"+", "in"}
    pieces = [joined_text(printer, node.first) if joins else printer.expression(node.first)]
    for operator, operand in node.rest:
        text = joined_text(printer, operand) if operator == "+" else printer.expression(operand)
        if operator == "instanceof":
            text = f"{printer.run('io')}({text})"
        pieces += (f" {operator} ", text)
    return f"({''.join(pieces)})"


def _private_in(printer: Printer, node: PrivateIn) -> str:
    if node.name.target is None:
        raise RuntimeError("a private name is resolved when its class ends")
    return f"({node.name.target.printed} in {printer.expression(node.right)})"


def _conditional(printer: Printer, node: Conditional) -> str:
    arms = "".join([f"{printer.expression(test)}?{printer.expression(then)}:" for test, then in node.arms])
    return f"({arms}{printer.expression(node.otherwise)})"


def _unary(printer: Printer, node: Unary) -> str:
    inner = node.operand
    while type(inner) is Paren:
        inner = inner.inner
    if node.operator == "typeof" and type(inner) is Name and inner.binding is None:
        raw = free(printer, inner)
        # A name that is never printed is taken for one that nothing defines.
        return f"(typeof {raw})" if raw == name_text(inner.name) else '"undefined"'
    if node.operator == "delete":
        return _delete(printer, node, inner)
    return f"({node.operator} {printer.expression(inner)})"


def _delete(printer: Printer, node: Unary, inner: Expression) -> str:
    if type(inner) is Name:
        if inner.binding is not None:
            return "false"
        if inner.name in DENIED_NAMES:
            return denial(printer, inner)
        return f"{printer.run('gd')}({string_text(inner.name)})"
    if type(inner) is not Chain or inner.links[-1].arguments is not None or inner.links[-1].quasi is not None:
        return f"({printer.expression(inner)},true)"
    link = inner.links[-1]
    if len(inner.links) == 1 and type(inner.base) is Super:
        raise RefusedError("The payload deletes a member of super.", kind="super")
    if link.private is not None:
        raise RefusedError("The payload deletes a private name.", kind="private_property_identifier")
    conditions: list[str] = []
    base = object_of(printer, inner, conditions)
    if link.optional:
        base = is_nullish(printer, base, conditions)
    key = string_text(link.name) if link.name is not None else printer.expression(link.index or inner)
    strict = "true" if node.strict else "false"
    return conditional(conditions, f"{printer.run('del')}({base},{key},{strict})", "true")


def _update(printer: Printer, node: Update) -> str:
    return update(printer, node)


def _assign(printer: Printer, node: Assign) -> str:
    if node.operator != "=":
        return compound(printer, node)
    target = node.target
    if type(target) is Name:
        value = printer.named(node.value, string_text(target.name))
        return assignment(printer, target, value, strict=node.strict)
    while type(target) is Paren:
        target = target.inner
    if type(target) is not ArrayPattern and type(target) is not ObjectPattern:
        return _simple_assignment(printer, node, target)
    held = printer.temporary()
    steps = Steps(printer, declares=False, strict=node.strict)
    value = f"({held}={printer.expression(node.value)})"
    steps.bind(target, held)
    return f"({','.join([value, *steps.out, held])})"


def _simple_assignment(printer: Printer, node: Assign, target: Expression) -> str:
    """Print an assignment; the target is evaluated first, and printed first."""
    if type(target) is Chain:
        marked = assignment(printer, target, "\x02", strict=node.strict)
        return marked.replace("\x02", printer.expression(node.value))
    return assignment(printer, target, printer.expression(node.value), strict=node.strict)


def _await(printer: Printer, node: Await) -> str:
    printer.frame.awaits += 1
    return f"{printer.run('v')}(await {printer.expression(node.operand)})"


def _yield(printer: Printer, node: Yield) -> str:
    printer.frame.yields += 1
    if node.operand is None:
        return f"{printer.run('v')}(yield)"
    operand = printer.expression(node.operand)
    if node.delegate:
        return f"{printer.run('v')}(yield* {printer.run('ye')}({operand}))"
    return f"{printer.run('v')}(yield {operand})"


def _super(_: Printer, __: Super) -> str:
    raise RefusedError("super outside of a chain.", kind="super")


def _pattern(_: Printer, __: Expression) -> str:
    raise RefusedError("A pattern where a value is needed.", kind="object_pattern")


HANDLERS: Final[dict[type[Expression], ExpressionPrinter]] = {
    Literal: _literal,
    Regex: _regex,
    Text: _text,
    Template: _template,
    Array: _array,
    This: _this,
    NewTarget: _new_target,
    Paren: _paren,
    Sequence: _sequence,
    Binary: _binary,
    PrivateIn: _private_in,
    Conditional: _conditional,
    Unary: _unary,
    Update: _update,
    Assign: _assign,
    Await: _await,
    Yield: _yield,
    Function: print_functions.expression,
    Super: _super,
    ArrayPattern: _pattern,
    ObjectPattern: _pattern,
}
