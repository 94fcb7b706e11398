"""How the guard reads a text before it resolves values: denied, or parsed with certain probes as code."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evalward.guard.rules import Limits
from evalward.guard.screen.quiet import is_quiet
from evalward.guard.syntax.grammar import COMMENTS, IDENTIFIERS, kind, kinds
from evalward.guard.syntax.shapes import Rejection, programs_of
from evalward.guard.syntax.survey import survey

if TYPE_CHECKING:
    from tree_sitter import Node

    from evalward.guard.syntax.program import ParsedProgram
    from evalward.guard.target import Shape

_LIMITS: Final = Limits()
_REFERENCES: Final = IDENTIFIERS - kinds("statement_identifier", "shorthand_property_identifier_pattern")
_CALLS: Final = kinds("call_expression", "new_expression")
_PARENTHESIZED: Final = kind("parenthesized_expression")
_IDENTIFIER: Final = kind("identifier")
_PROBE: Final = re.compile(rb"P\d+")


@dataclass(frozen=True, slots=True)
class Reading:
    """How the guard reads a text in one shape (or undeclared).

    ``refused`` is the construct or "syntax" or "limit", None if the text reaches the resolver; then ``probes`` gives
    for each shape the probes that are code in its tree. ``quiet``: the lexical fast path would have allowed the text
    without a survey.
    """

    refused: str | None
    probes: dict[Shape, frozenset[str]]
    quiet: bool


def read(text: str, shape: Shape | None) -> Reading:
    """Return how the guard reads ``text``, declared as ``shape``."""
    programs = programs_of(text.encode(), shape, limit_bytes=_LIMITS.payload_bytes)
    if isinstance(programs, Rejection):
        return Reading(_why(programs), {}, quiet=False)
    quiet = all(is_quiet(program, _LIMITS) for program in programs)
    refused = None
    probes: dict[Shape, frozenset[str]] = {}
    for program in programs:
        seen = survey(program, _LIMITS)
        if isinstance(seen, Rejection):
            refused = refused or _why(seen)
        found = _probes(program)
        for each in program.shapes:
            probes[each] = probes.get(each, frozenset()) | found
    return Reading(refused, probes, quiet)


def _why(rejection: Rejection) -> str:
    if rejection.budget is not None:
        return "limit"
    return rejection.construct or "syntax"


def _probes(program: ParsedProgram) -> frozenset[str]:
    found = set()
    stack: list[Node] = [program.tree.root_node]
    while stack:
        node = stack.pop()
        children = node.children
        stack.extend(children)
        if node.kind_id in _REFERENCES and _PROBE.fullmatch(name := program.text(node)):
            found.add(name.decode())
        elif node.kind_id in _CALLS:
            callee = _operand(node)
            while callee.kind_id == _PARENTHESIZED and callee.named_child_count:
                callee = _operand(callee)
            if callee.kind_id == _IDENTIFIER and _PROBE.fullmatch(name := program.text(callee)):
                found.add(f"{name.decode()}()")
    return frozenset(found)


def _operand(node: Node) -> Node:
    return next((each for each in node.children if each.is_named and each.kind_id not in COMMENTS), node)
