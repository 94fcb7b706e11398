"""The programs of a payload with a declared shape, or with none: one for each reading (guard.md §1, §4 U10).

Most payloads without a declared shape are parsed once. A text that V8 reads as ``(text)`` is one Expression. Its
tokens are the same Expression when the text stands alone, unless its first token is one that ExpressionStatement
forbids (``{``, ``function``, ``async function``, ``class``, ``let [``: ECMA-262 §14.5): no token is invalid before the
end, so no semicolon is inserted. The body of an async function differs from a script only in ``await`` and
``return``; ``words`` checks what ``await`` changes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tree_sitter import Tree

from evalward.guard.constructs import parser_ambiguity, wrapper_breakout
from evalward.guard.syntax.grammar import COMMENTS, REGEX_TEXT, STRING_TEXT, kind, kinds
from evalward.guard.syntax.parse import BudgetFault, SyntaxFault, parse
from evalward.guard.syntax.program import ParsedProgram
from evalward.guard.syntax.wrap import BARE_SUFFIXES, WRAPPERS, roots_of
from evalward.guard.target import Shape

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tree_sitter import Node

_SPACE = (
    rb"[\t\n\v\f\r ]|\xc2\xa0|\xef\xbb\xbf"
    rb"|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]|\xe1\x9a\x80|\xe2\x81\x9f|\xe3\x80\x80"
)
_TRIVIA_PATTERN = rb"(?:" + _SPACE + rb"|//[^\n\r\xe2]*|/\*[\s\S]*?\*/)*+"
_ASYNC_FUNCTION = rb"async" + _TRIVIA_PATTERN + rb"function"
# The first characters of what the patterns below begin with; all other payloads have one reading.
_MAY_BEGIN_OTHERWISE = frozenset(b"{fcal<-#")
_MAY_DIFFER = re.compile(rb"\{|(?:function|class|" + _ASYNC_FUNCTION + rb")(?![\w$])|<!--|-->|#!")
# A declaration here, a member of `let` in parentheses.
_LET_BRACKET = re.compile(rb"let" + _TRIVIA_PATTERN + rb"\[")
# A declaration needs a name (ECMA-262 §15.2): V8 reads these as expressions or not at all.
_NAMELESS = re.compile(
    rb"(?:(?:" + _ASYNC_FUNCTION + rb"|function)" + _TRIVIA_PATTERN + rb"\*?" + _TRIVIA_PATTERN + rb"\("
    rb"|class" + _TRIVIA_PATTERN + rb"(?:\{|extends(?![\w$])))"
)
_TRIVIA = re.compile(_TRIVIA_PATTERN)
_EXPRESSION_STATEMENT = kind("expression_statement")
_BODIED = kinds("function_expression", "generator_function", "class")
_FUNCTION_VALUES = kinds("arrow_function", "function_expression", "generator_function")
_WRAPPED = kinds("expression_statement", "parenthesized_expression")
_CLASS_DECLARATION = kind("class_declaration")
_DECLARATIONS = kinds("function_declaration", "generator_function_declaration", "class_declaration")
_STARTS_STATEMENT = re.compile(rb"[A-Za-z0-9_$\"'{;]")
_NAMES = kinds("identifier")
_SEMICOLON = kind(";", named=False)
_SLASH = 0x2F
_NAMED_BREAKOUT = 2 * 1024
_OPAQUE = COMMENTS | STRING_TEXT | REGEX_TEXT
_UNSET = (Shape.SCRIPT, Shape.EXPRESSION, Shape.ASYNC_BODY)


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why a payload is no program, at payload offsets: a construct, a limit that is used up, or a syntax error.

    ``budget`` is the value of the limit that is used up, and ``limit`` its name. ``exact`` says that the place is that
    of the token that no engine accepts.
    """

    construct: str | None
    start: int
    end: int
    budget: int | None = None
    limit: str = "parse_budget"
    exact: bool = False


def programs_of(
    payload: bytes, shape: Shape | None, *, limit_bytes: int
) -> tuple[ParsedProgram, ...] | Rejection:
    """Return the programs that ``payload`` is under ``shape``, or under each that it may meet when it is None.

    Without a declared shape it may be a script, an expression or the body of an async function. A payload that is one
    function may also be called by the sink.
    """
    if shape is not None:
        return declared(payload, shape, limit_bytes)
    found = undeclared(payload, limit_bytes)
    return found if isinstance(found, Rejection) else tuple(_perhaps_called(each) for each in found)


def undeclared(payload: bytes, limit_bytes: int) -> tuple[ParsedProgram, ...] | Rejection:
    """Return the programs that ``payload`` is as a script, an expression or the body of an async function."""
    first = _first_token(payload)
    checked = first < len(payload) and payload[first] in _MAY_BEGIN_OTHERWISE
    if checked and _NAMELESS.match(payload, first):
        return declared(payload, Shape.EXPRESSION, limit_bytes)
    script = _program(payload, Shape.SCRIPT, limit_bytes)
    if isinstance(script, Rejection) and script.budget is not None:
        return script
    if checked and _MAY_DIFFER.match(payload, first):
        return _both(payload, script, limit_bytes)
    if isinstance(script, ParsedProgram):
        if checked and _LET_BRACKET.match(payload, first) and _is_one_open(script):
            return Rejection(parser_ambiguity.LABEL, first, len(payload))
        return (_read_by(script, _shapes_of(script)),)
    return _breakout(payload, limit_bytes) or script


# One return per combination of the two readings.
def _both(  # noqa: PLR0911
    payload: bytes, script: ParsedProgram | Rejection, limit_bytes: int
) -> tuple[ParsedProgram, ...] | Rejection:
    """Compare the two readings of a payload whose first token allows two (U10)."""
    if isinstance(script, ParsedProgram) and (shapes := _shapes_of_declaration(script)):
        if shapes is not _UNSET or script.roots[-1].kind_id == _CLASS_DECLARATION:
            return (_read_by(script, shapes),)
        called = _program(payload, Shape.FUNCTION, limit_bytes)
        return called if isinstance(called, Rejection) else (_read_by(script, shapes), called)
    expression = _program(payload, Shape.EXPRESSION, limit_bytes)
    if isinstance(expression, Rejection):
        if expression.budget is not None or expression.construct is not None:
            return expression
        if isinstance(script, ParsedProgram):
            return (_read_by(script, (Shape.SCRIPT, Shape.ASYNC_BODY)),)
        return _breakout(payload, limit_bytes) or script
    if isinstance(script, Rejection):
        place = _script_may_divide(expression)
        return Rejection(parser_ambiguity.LABEL, *place) if place else (expression,)
    place = _first_difference(script, expression)
    if place is not None:
        return Rejection(parser_ambiguity.LABEL, *place)
    return (_read_by(script, (Shape.SCRIPT, Shape.ASYNC_BODY)), expression)


def _perhaps_called(program: ParsedProgram) -> ParsedProgram:
    """Add the shape ``function`` to those of a program that is one function: a sink that takes text may call it."""
    node = _only(program.roots)
    while node is not None and node.kind_id in _WRAPPED:
        node = _only(node.named_children)
    if node is None or node.kind_id not in _FUNCTION_VALUES:
        return program
    return _read_by(program, (*program.shapes, Shape.FUNCTION))


def _only(nodes: Iterable[Node]) -> Node | None:
    """Return the one node that is no comment; None if there is another, or none."""
    found = None
    for node in nodes:
        if node.kind_id not in COMMENTS:
            if found is not None:
                return None
            found = node
    return found


def _first_token(payload: bytes) -> int:
    match = _TRIVIA.match(payload)
    return match.end() if match else 0


def _read_by(program: ParsedProgram, shapes: tuple[Shape, ...]) -> ParsedProgram:
    return ParsedProgram(shapes, program.source, program.tree, program.offset, program.length, program.roots)


def _shapes_of(script: ParsedProgram) -> tuple[Shape, ...]:
    """Return the shapes that read this script alike; only one statement without a semicolon is also an expression."""
    first = next((node for node in script.roots if node.kind_id not in COMMENTS), None)
    if first is not None and first.kind_id == _EXPRESSION_STATEMENT and _is_one_open(script):
        return _UNSET
    return (Shape.SCRIPT, Shape.ASYNC_BODY)


def _is_one_open(script: ParsedProgram) -> bool:
    """Say whether there is one statement, without a semicolon at its end."""
    statement = _only(script.roots)
    if statement is None:
        return False
    children = statement.children
    return not children or children[-1].kind_id != _SEMICOLON  # a comment may end in one too


def _shapes_of_declaration(script: ParsedProgram) -> tuple[Shape, ...]:
    """Return the shapes that read a script which begins with a function or class; none where that is unclear.

    The declaration has the same tokens as an expression. If nothing follows, so has the payload. A name, literal or
    block behind it cannot continue an expression, so that no engine reads the payload as one.
    """
    first = next((node for node in script.roots if node.kind_id not in COMMENTS), None)
    if first is None or first.kind_id not in _DECLARATIONS:
        return ()
    rest = _TRIVIA.match(script.source, first.end_byte)
    following = script.source[rest.end() : rest.end() + 1] if rest else b"/"
    if not following:
        return _UNSET
    return (Shape.SCRIPT, Shape.ASYNC_BODY) if _STARTS_STATEMENT.match(following) else ()


def _program(payload: bytes, shape: Shape, limit_bytes: int) -> ParsedProgram | Rejection:
    wrapper = WRAPPERS[shape]
    source = wrapper.prefix + payload + wrapper.suffix if wrapper.prefix else payload
    offset = len(wrapper.prefix)
    tree = parse(source, limit_bytes=limit_bytes)
    if not isinstance(tree, Tree):
        return _rejection(tree, offset, len(payload))
    roots = roots_of(tree.root_node, shape, len(payload))
    if roots is None:
        return Rejection(wrapper_breakout.LABEL, 0, len(payload))
    return ParsedProgram((shape,), source, tree, offset, len(payload), roots)


def declared(payload: bytes, shape: Shape, limit_bytes: int) -> tuple[ParsedProgram, ...] | Rejection:
    """Return the one program that ``payload`` is in ``shape``."""
    program = _program(payload, shape, limit_bytes)
    if isinstance(program, ParsedProgram):
        return (program,)
    if program.construct is None and program.budget is None and shape in BARE_SUFFIXES:
        bare = WRAPPERS[shape].prefix + payload + BARE_SUFFIXES[shape]
        if isinstance(parse(bare, limit_bytes=limit_bytes), Tree):
            return Rejection(wrapper_breakout.LABEL, 0, len(payload))
    return program


def _rejection(fault: SyntaxFault | BudgetFault, offset: int, length: int) -> Rejection:
    start = min(max(fault.start - offset, 0), length)
    if isinstance(fault, BudgetFault):
        return Rejection(None, start, start, budget=fault.allowed)
    return Rejection(None, start, min(max(fault.end - offset, start), length))


def _breakout(payload: bytes, limit_bytes: int) -> Rejection | None:
    """Name the breakout of a payload that is no program alone; large ones are rejected without that name."""
    if len(payload) <= _NAMED_BREAKOUT:
        for shape in (Shape.EXPRESSION, Shape.ASYNC_BODY):
            found = declared(payload, shape, limit_bytes)
            if isinstance(found, Rejection) and found.construct is not None:
                return found
    return None


def _script_may_divide(expression: ParsedProgram) -> tuple[int, int] | None:
    """Find a slash that V8 may lex differently, if the payload is only an expression here and a script there.

    The body of a function or class has the same tokens in both. The text behind it may not, nor the text in a brace
    that may be a block. Anonymous functions and classes cannot be statements.
    """
    node = next((root for root in expression.roots if root.kind_id not in COMMENTS), None)
    after = 0
    while node is not None and node.child_count:
        if node.kind_id in _BODIED:
            if all(child.kind_id not in _NAMES for child in node.children):
                return None
            after = node.end_byte
            break
        node = node.children[0]
    for start, end, _ in _tokens(expression):
        if start + expression.offset >= after and expression.source[start + expression.offset] == _SLASH:
            return start, end
    return None


def _first_difference(one: ParsedProgram, other: ParsedProgram) -> tuple[int, int] | None:
    """Return the payload span of the first token that two programs of one payload do not share."""
    left, right = _tokens(one), _tokens(other)
    for mine, theirs in zip(left, right, strict=False):
        if mine != theirs:
            return mine[0], mine[1]
    if len(left) != len(right):
        return 0, one.length
    return None


def _tokens(program: ParsedProgram) -> list[tuple[int, int, bool]]:
    """Return every leaf as payload offsets, with whether it is text (comment, string, regex) or code."""
    found: list[tuple[int, int, bool]] = []
    stack: list[Node] = list(reversed(program.roots))
    while stack:
        node = stack.pop()
        children = node.children
        if children:
            stack.extend(reversed(children))
        elif node.end_byte > node.start_byte:
            start = node.start_byte - program.offset
            found.append((start, node.end_byte - program.offset, node.kind_id in _OPAQUE))
    return found
