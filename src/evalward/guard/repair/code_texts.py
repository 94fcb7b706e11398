"""Text that is evaluated, as code that is not: the text itself, in a function or in parentheses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from evalward.guard.repair.reading import kind_of
from evalward.guard.syntax.shapes import Rejection, programs_of
from evalward.guard.target import Shape

if TYPE_CHECKING:
    from tree_sitter import Node

    from evalward.guard.syntax.program import ParsedProgram

_LIMIT: Final = 16 * 1024
_FUNCTIONS: Final = frozenset({"arrow_function", "function_expression"})
_RETURN: Final = re.compile(r"\breturn\b")
_THIS: Final = re.compile(r"\bthis\b")
_EVENT: Final = re.compile(r"\bevent\b")


def as_expression(text: str) -> str | None:
    """Return ``text`` as an operand, in parentheses where it needs them; None if it is no expression."""
    code, root = _expression(text)
    if root is None:
        return None
    simple = {"identifier", "number", "string", "call_expression", "member_expression", "array"}
    return code if kind_of(root) in simple else f"({code})"


def as_function(text: str, *, answers: bool) -> str | None:
    """Return a function that does what the evaluated ``text`` does; ``answers``: its value is used."""
    code, root = _expression(text)
    if root is not None:
        if kind_of(root) in _FUNCTIONS and answers:
            return code
        bare = not code.startswith("{") and kind_of(root) != "sequence_expression"
        return f"() => {code}" if bare else f"() => ({code})"
    return _block(text, answers=answers)


def as_listener(text: str) -> str | None:
    """Return the function that does what the event handler ``text`` does, None for one with an answer."""
    if _RETURN.search(text) or "<!--" in text:
        return None
    if not _THIS.search(text) and not _EVENT.search(text):
        code, root = _expression(text)
        if root is not None and kind_of(root) == "call_expression":
            return f"() => {code}"
    body = _statements(text)
    if body is None:
        return None
    inner = text.strip()
    if _THIS.search(text):
        return f"function (event) {{ {inner} }}"
    return f"{'event' if _EVENT.search(text) else '()'} => {{ {inner} }}"


def as_constructed(parameters: list[str], body: str) -> str | None:
    """Return the function that ``new Function(...parameters, body)`` makes, as an expression."""
    code = f"(function ({', '.join(each.strip() for each in parameters)}) {{ {body.strip()} }})"
    return code if _parsed(code, Shape.EXPRESSION) is not None else None


def _expression(text: str) -> tuple[str, Node | None]:
    code = text.strip().rstrip(";").rstrip()
    if not code or "//" in code:
        return code, None
    program = _parsed(code, Shape.EXPRESSION)
    roots = [] if program is None else [node for node in program.roots if kind_of(node) != "comment"]
    return code, roots[0] if len(roots) == 1 else None


def _statements(text: str) -> ParsedProgram | None:
    return _parsed(text.strip(), Shape.SCRIPT) if text.strip() and "//" not in text else None


def _block(text: str, *, answers: bool) -> str | None:
    program = _statements(text)
    if program is None:
        return None
    code, last = text.strip(), program.roots[-1]
    if not answers:
        return f"() => {{ {code} }}"
    if kind_of(last) != "expression_statement":
        return None
    at = last.start_byte
    whole = code.encode()
    return f"() => {{ {whole[:at].decode()}return {whole[at:].decode()} }}"


def _parsed(code: str, shape: Shape) -> ParsedProgram | None:
    raw = code.encode("utf-8", "surrogatepass")
    if len(raw) > _LIMIT:
        return None
    found = programs_of(raw, shape, limit_bytes=_LIMIT)
    return None if isinstance(found, Rejection) else found[0]
