"""One pass over a tree: limits, ambiguities, and whether there is anything to resolve (guard.md §4, §6).

The pass examines only nodes that may matter (``landmarks``), and some kinds only if the text holds the characters of
the ambiguity in question, which ordinary code seldom does. What the text excludes is excluded for every way to
parse it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from evalward.guard.constructs import parser_ambiguity
from evalward.guard.syntax import ambiguity
from evalward.guard.syntax.depth import may_nest_deeper, nesting_exceeds
from evalward.guard.syntax.grammar import FUNCTIONS, JSX, KIND_COUNT, kind, kinds
from evalward.guard.syntax.landmarks import landmarks
from evalward.guard.syntax.line_ends import line_end_fault
from evalward.guard.syntax.opaque_spans import opaque_spans
from evalward.guard.syntax.program import ParsedProgram, Survey
from evalward.guard.syntax.shapes import Rejection
from evalward.guard.syntax.tokens import refused_token
from evalward.guard.syntax.words import Words, words_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from evalward.guard.rules import Limits

# What the pass does with a node of a kind; 0 is nothing.
_REJECT, _STATEMENT, _SUBSCRIPT, _COMPUTED, _ESCAPED, _WITH, _FUNCTION, _ARROW = range(1, 9)
_RETURN, _REGEX, _AWAIT, _YIELD, _DECLARATION, _FOR_IN, _EXPORT, _REGION = range(9, 17)

_TASKS: dict[str, int] = {
    "expression_statement": _STATEMENT,
    "subscript_expression": _SUBSCRIPT,
    "computed_property_name": _COMPUTED,
    "escape_sequence": _ESCAPED,
    "with_statement": _WITH,
    "return_statement": _RETURN,
    "regex": _REGEX,
    "await_expression": _AWAIT,
    "yield_expression": _YIELD,
    "lexical_declaration": _DECLARATION,
    "for_in_statement": _FOR_IN,
    "export_statement": _EXPORT,
    "field_definition": _REGION,
    "class_static_block": _REGION,
    "arrow_function": _ARROW,
}
_LITERAL_KEYS = kinds("string", "number")
_TEMPLATE = kind("template_string")
_SUBSTITUTION = kind("template_substitution")
_LET = kind("let", named=False)
_NAMES = kinds(
    "identifier",
    "property_identifier",
    "private_property_identifier",
    "shorthand_property_identifier",
    "shorthand_property_identifier_pattern",
    "statement_identifier",
)
# These stand for a control character, a quote or a slash, which no name holds.
_HARMLESS_ESCAPES = frozenset(b"nrtbfv'\"`\\/")
_SMALL_L = 0x6C
# `return` and something behind it on the same line that is no comment.
RETURN_BROKEN = re.compile(rb"return(?![ \t]*+(?:[^\s/\x80-\xff]|/[^/*]))")
ASYNC_BROKEN = re.compile(rb"async(?! ?[\w$(*])")
BARE_THIS = re.compile(rb"this(?<![\w$]this)(?![\w$.])")


def _table() -> bytearray:
    table = bytearray(KIND_COUNT)
    for number in FUNCTIONS:
        table[number] = _FUNCTION
    for name, task in _TASKS.items():
        table[kind(name)] = task
    for number in JSX:
        table[number] = _REJECT
    return table


_TABLE = _table()


@cache
def _wanted(*, escapes: bool, returns: bool, functions: bool, words: bool) -> frozenset[int]:
    """Return the kinds that matter for a text with these properties."""
    left_out = {0}
    if not escapes:
        left_out.add(_ESCAPED)
    if not returns:
        left_out.add(_RETURN)
    if not functions:
        left_out.add(_FUNCTION)
    if not words:
        left_out |= {_AWAIT, _YIELD, _DECLARATION, _FOR_IN, _REGION}
    return frozenset(number for number, task in enumerate(_TABLE) if task not in left_out)


def survey(program: ParsedProgram, limits: Limits, *, spans: bool = False) -> Survey | Rejection:
    """Examine ``program``; return the results, or why it is rejected (at payload offsets).

    With ``spans`` the results include the opaque spans.
    """
    seen = _survey(program, limits, spans=spans, ordered=False)
    if isinstance(seen, Rejection) and not seen.exact:
        # A query returns its nodes in no fixed order; which of several faults is reported must not depend on it.
        return _survey(program, limits, spans=spans, ordered=True)
    return seen


# One flat loop: a call per node costs more than examining the node.
def _survey(  # noqa: C901, PLR0911, PLR0912, PLR0915
    program: ParsedProgram, limits: Limits, *, spans: bool, ordered: bool
) -> Survey | Rejection:
    source, root = program.source, program.tree.root_node
    nodes, allowed = root.descendant_count, node_limit(limits)
    if nodes > allowed:
        return Rejection(None, 0, 0, budget=allowed, limit="nodes")
    words = words_of(program)
    scoped = words is not None and words.scoped
    broken_async = b"async" in source and ASYNC_BROKEN.search(source) is not None
    wanted = _wanted(
        escapes=b"\\" in source,
        returns=b"return" in source and RETURN_BROKEN.search(source) is not None,
        functions=scoped or broken_async,
        words=words is not None,
    )
    dynamic = computed = with_ = escaped = arrows = False
    table = _TABLE
    marks = landmarks(root, wanted)
    if ordered:
        marks.sort(key=lambda node: (node.start_byte, -node.end_byte, node.kind_id))
    for node in marks:
        task = table[node.kind_id]
        if task == _STATEMENT:
            start = node.start_byte
            if source[start] in b"{fcal" and ambiguity.statement_fault(source, start):
                return _ambiguous(program, node)
        elif task == _SUBSCRIPT:
            if not dynamic:
                dynamic = is_dynamic(node)
        elif task == _ESCAPED:
            if not escaped:
                escaped = source[node.start_byte + 1] not in _HARMLESS_ESCAPES
        elif task in (_FUNCTION, _ARROW):
            if task == _ARROW:
                if ambiguity.arrow_fault(node.child(node.child_count - 1), source):
                    return _ambiguous(program, node)
                if not arrows:
                    arrows = ambiguity.arrow_may_be_operand(node.end_byte, source)
            if broken_async and ambiguity.function_fault(node.children, source):
                return _ambiguous(program, node)
            if scoped and words is not None:
                words.enter(node, node.children)
        elif task == _RETURN:
            if ambiguity.return_fault(node, source):
                return _ambiguous(program, node)
        elif task == _DECLARATION:
            if words is not None and source[node.start_byte] == _SMALL_L:
                words.keywords[b"let"] += 1
        elif task == _REGEX:
            if ambiguity.regex_fault(node.children):
                return _ambiguous(program, node)
        elif task in (_AWAIT, _YIELD):
            if words is not None:
                words.use(node, awaits=task == _AWAIT)
        elif task == _REGION:
            if scoped and words is not None:
                words.enter(node, node.children)
        elif task == _FOR_IN:
            if words is not None and any(child.kind_id == _LET for child in node.children):
                words.keywords[b"let"] += 1
        elif task == _COMPUTED:
            computed = True
        elif task == _WITH:
            with_ = True
        elif task == _EXPORT:
            if ambiguity.export_fault(node, source):
                return _ambiguous(program, node)
        else:
            return _ambiguous(program, node)
    fault = _late_fault(program, limits.depth, arrows=arrows)
    if fault is not None:
        return fault
    if words is not None and (misread := words.fault()) is not None:
        return _ambiguous(program, misread)
    return Survey(
        nodes=nodes,
        dynamic_subscript=dynamic,
        computed_key=computed,
        bare_this=b"this" in source and BARE_THIS.search(source) is not None,
        with_statement=with_,
        escaped_identifier=b"\\u" in source and _has_escaped_name(program),
        escaped_string=escaped,
        opaque=opaque_spans(root) if spans else (),
    )


def node_limit(limits: Limits) -> int:
    """Return how many nodes a tree may have under ``limits``."""
    return max(1, limits.nodes_per_64k * limits.payload_bytes // 65_536)


def enters(words: Words, node: Node) -> None:
    """Enter ``node`` into ``words`` if it decides the meaning of a word inside it."""
    if _TABLE[node.kind_id] in (_FUNCTION, _ARROW, _REGION):
        words.enter(node, node.children)


def is_dynamic(subscript: Node) -> bool:
    """Whether the index of a subscript is anything but a literal, whose text the scan for words covers."""
    key = subscript.children[-2]
    return key.kind_id not in _LITERAL_KEYS and (
        key.kind_id != _TEMPLATE or any(part.kind_id == _SUBSTITUTION for part in key.children)
    )


def _late_fault(program: ParsedProgram, limit: int, *, arrows: bool) -> Rejection | None:
    """Run the checks that need the whole tree, each only if the pass found a reason."""
    root, source = program.tree.root_node, program.source
    if may_nest_deeper(root, limit) and (deep := nesting_exceeds(root, limit)) is not None:
        start = min(max(deep.start_byte - program.offset, 0), program.length)
        return Rejection(None, start, start, budget=limit, limit="depth")
    if arrows and (operand := ambiguity.arrow_operand(root)) is not None:
        return _ambiguous(program, operand)
    misread = line_end_fault(root, source) or ambiguity.hash_bang_fault(root, source)
    if misread is not None:
        return _ambiguous(program, misread)
    if (token := refused_token(root, source)) is not None:
        return _refused(program, token)
    for check in (
        ambiguity.html_comment_fault,
        ambiguity.line_comment_fault,
        ambiguity.unusual_space_fault,
    ):
        if (span := check(program)) is not None:
            return Rejection(parser_ambiguity.LABEL, span[0] - program.offset, span[1] - program.offset)
    return None


def _ambiguous(program: ParsedProgram, node: Node) -> Rejection:
    start = min(max(node.start_byte - program.offset, 0), program.length)
    end = min(max(node.end_byte - program.offset, start), program.length)
    return Rejection(parser_ambiguity.LABEL, start, end)


def _refused(program: ParsedProgram, node: Node) -> Rejection:
    """Return the syntax error that the parser should have reported at this token."""
    return replace(_ambiguous(program, node), construct=None, exact=True)


def _has_escaped_name(program: ParsedProgram) -> bool:
    stack = [program.tree.root_node]
    while stack:
        node = stack.pop()
        if node.child_count:
            stack.extend(node.children)
        elif node.kind_id in _NAMES and b"\\" in program.text(node):
            return True
    return False
