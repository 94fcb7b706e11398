"""Strip the types of a payload that its tool declares to be TypeScript, as the tool's own compiler does before it runs.

The parser is tree-sitter's grammar of TypeScript. What it cannot parse, and what is not erased without a doubt, is
refused: the guard never judges another program than the one that runs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

import tree_sitter_typescript
from tree_sitter import Language, Parser, Tree

from evalward.guard.syntax.grammar import LANGUAGE as JAVASCRIPT
from evalward.guard.syntax.parse import parse
from evalward.guard.syntax.wrap import WRAPPERS, Wrapper
from evalward.guard.target import Shape
from evalward.guard.typescript.agreement import disagreement
from evalward.guard.typescript.comparison import comparison_or_call
from evalward.guard.typescript.erasure import Erasure, Inerasable, erasures

if TYPE_CHECKING:
    from tree_sitter import Node

TYPESCRIPT = Language(tree_sitter_typescript.language_typescript())
_WRAPPERS = tuple(WRAPPERS[shape] for shape in (Shape.ASYNC_BODY, Shape.EXPRESSION, Shape.MODULE))

_UNUSUAL_LINE_END = re.compile(rb"\r(?!\n)|\xe2\x80[\xa8\xa9]")
# After a type, a line that begins so could be read as a part of the expression before the type, or of the type.
_CONTINUES = re.compile(
    rb"(?:[^\S\r\n]|//[^\r\n]*|/\*.*?\*/)*[\r\n](?:\s|//[^\r\n]*|/\*.*?\*/)*[(\[`+\-*/<>.!%^~]", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class NotStripped:
    """Why a payload has no JavaScript that certainly is what runs; the span in bytes is of the payload.

    ``parsed``: it is TypeScript.
    """

    start: int
    end: int
    why: str
    parsed: bool = True


def strip_types(payload: bytes, *, limit_bytes: int) -> bytes | NotStripped:
    """Return ``payload`` with spaces in place of its types; the length in bytes is the same.

    It is parsed as the body of an asynchronous function, as an expression and as a module; the first that fits counts,
    since what is erased does not depend on it. ``limit_bytes`` scales the parser's budget.
    """
    if (unusual := _UNUSUAL_LINE_END.search(payload)) is not None:
        return NotStripped(*unusual.span(), "a line end that the two grammars count differently")
    faults = []
    for wrapper in _WRAPPERS:
        stripped = _strip(payload, wrapper, limit_bytes)
        if isinstance(stripped, bytes):
            return stripped
        faults.append(stripped)
    return max(faults, key=lambda fault: (fault.parsed, fault.start))


def _strip(payload: bytes, wrapper: Wrapper, limit_bytes: int) -> bytes | NotStripped:
    source = wrapper.prefix + payload + wrapper.suffix
    typed = parse(source, limit_bytes=limit_bytes, parser=Parser(TYPESCRIPT))
    if not isinstance(typed, Tree):
        unparsed = Inerasable(typed.start, typed.start, "the text does not parse as TypeScript")
        return replace(_at(unparsed, wrapper, payload), parsed=False)
    erased = _erased(source, typed.root_node)
    if isinstance(erased, Inerasable):
        return _at(erased, wrapper, payload)
    left = _blank(source, erased)
    fault = _fault_of(left, typed.root_node, erased, limit_bytes) if erased else None
    if fault is not None:
        return _at(fault, wrapper, payload)
    return left[len(wrapper.prefix) : len(wrapper.prefix) + len(payload)]


def _erased(source: bytes, root: Node) -> list[Erasure] | Inerasable:
    doubt = comparison_or_call(root)
    if doubt is not None:
        return Inerasable(*doubt, "a comparison may be read as type arguments; put it in parentheses")
    erased: list[Erasure] = []
    for each in erasures(root, source, _only_typescript()):
        if isinstance(each, Inerasable):
            return each
        if not each.ends_statement and _CONTINUES.match(source, each.end):
            return Inerasable(
                each.start, each.end, "the next line could continue this one; end it with a semicolon"
            )
        erased.append(each)
    return erased


def _fault_of(left: bytes, typed: Node, erased: list[Erasure], limit_bytes: int) -> Inerasable | None:
    plain = parse(left, limit_bytes=limit_bytes)
    if not isinstance(plain, Tree):
        return Inerasable(plain.start, plain.start, "the stripped text is not JavaScript")
    place = disagreement(typed, erased, plain.root_node)
    if place is None:
        return None
    return Inerasable(place, place, "without its types the text could be read in another way; use semicolons")


def _at(fault: Inerasable, wrapper: Wrapper, payload: bytes) -> NotStripped:
    first, last = (min(max(each - len(wrapper.prefix), 0), len(payload)) for each in (fault.start, fault.end))
    return NotStripped(first, last, fault.why)


def _blank(source: bytes, erased: list[Erasure]) -> bytes:
    left = bytearray(source)
    for each in erased:
        left[each.start : each.end] = bytes(
            byte if byte in b"\r\n" else 0x20 for byte in source[each.start : each.end]
        )
        if each.ends_statement:
            left[each.start] = ord(";")
    return bytes(left)


@cache
def _only_typescript() -> frozenset[str]:
    return _kinds(TYPESCRIPT) - _kinds(JAVASCRIPT)


def _kinds(language: Language) -> frozenset[str]:
    numbers = range(language.node_kind_count)
    return frozenset(
        language.node_kind_for_id(number) or "" for number in numbers if language.node_kind_is_named(number)
    )
