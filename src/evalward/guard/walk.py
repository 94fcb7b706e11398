"""The one pass over a tree: limits, ambiguities, and whether there is anything to resolve (guard.md §4, §6).

Level by level with plain lists: no recursion, and the number of levels is the depth. Only inner nodes are
looked at by kind; what concerns leaves is decided by the text, or by a second pass that
ordinary code never needs.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from evalward.guard import ambiguity
from evalward.guard.depth import nesting_exceeds
from evalward.guard.grammar import FUNCTIONS, JSX, KIND_COUNT, kind, kinds
from evalward.guard.program import ParsedProgram, Survey
from evalward.guard.shapes import Rejection
from evalward.guard.spans import opaque_spans
from evalward.guard.words import words_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from evalward.guard.rules import Limits

# What the pass does with an inner node of a kind; 0 is nothing.
_REJECT, _STATEMENT, _SUBSCRIPT, _COMPUTED, _TEXT, _WITH, _META, _FUNCTION, _ARROW = range(1, 10)
_RETURN, _REGEX, _AWAIT, _YIELD, _DECLARATION, _FOR_IN, _EXPORT, _REGION, _METHOD = range(10, 19)
_MEMBER, _PLAIN_TEXT = 19, 20

_TASKS: dict[str, int] = {
    "expression_statement": _STATEMENT,
    "subscript_expression": _SUBSCRIPT,
    "computed_property_name": _COMPUTED,
    "member_expression": _MEMBER,
    "string": _PLAIN_TEXT,
    "template_string": _TEXT,
    "with_statement": _WITH,
    "meta_property": _META,
    "return_statement": _RETURN,
    "regex": _REGEX,
    "await_expression": _AWAIT,
    "yield_expression": _YIELD,
    "lexical_declaration": _DECLARATION,
    "for_in_statement": _FOR_IN,
    "export_statement": _EXPORT,
    "field_definition": _REGION,
    "class_static_block": _REGION,
}
_LITERAL_KEYS = kinds("string", "number")
_TEMPLATE = kind("template_string")
_SUBSTITUTION = kind("template_substitution")
_ESCAPE = kind("escape_sequence")
_LET = kind("let", named=False)
_NAMES = kinds(
    "identifier",
    "property_identifier",
    "private_property_identifier",
    "shorthand_property_identifier",
    "shorthand_property_identifier_pattern",
    "statement_identifier",
)
# Behind these a template stands alone; behind any other name, bracket or template it is tagged.
_OPERATOR = re.compile(
    rb"(?<![\w$#\x80-\xff])(?:return|case|typeof|in|of|await|yield|default|else|do|throw|new|void|delete"
    rb"|instanceof)\Z"
)
_TAG_END = re.compile(rb"[\w$)\]`}/\x80-\xff]\Z")
_SPACE = b" \t\n\r\v\f"
_SMALL_L = 0x6C


def _table() -> bytearray:
    table = bytearray(KIND_COUNT)
    for name, task in _TASKS.items():
        table[kind(name)] = task
    for number in FUNCTIONS:
        table[number] = _FUNCTION
    table[kind("arrow_function")] = _ARROW
    table[kind("method_definition")] = _METHOD
    for number in JSX:
        table[number] = _REJECT
    return table


_TABLE = _table()


# One flat loop is the point: a call per node costs more than the node.
def survey(  # noqa: C901, PLR0911, PLR0912, PLR0915
    program: ParsedProgram, limits: Limits, *, spans: bool = False
) -> Survey | Rejection:
    """Walk ``program`` once; return what was seen, or why it is rejected (spans are payload offsets).

    With ``spans`` the survey carries the opaque spans.
    """
    source, root = program.source, program.tree.root_node
    has_escape, has_template, has_async = b"\\" in source, b"`" in source, b"async" in source
    words = words_of(program)
    scoped = words is not None and words.scoped
    dynamic = escaped_key = computed = with_ = meta = escaped = tagged = arrows = False
    node_limit = max(1, limits.nodes_per_64k * limits.payload_bytes // 65_536)
    nodes = root.descendant_count
    if nodes > node_limit:
        return Rejection("analysis-limit:nodes", 0, 0, budget=node_limit)
    depth = 0
    table = _TABLE
    level: list[Node] = [root]
    while level:
        below: list[Node] = []
        extend = below.extend
        for node in level:
            if not node.child_count:
                continue
            task = table[node.kind_id]
            if task == _MEMBER:
                # Its dot and its name are leaves: only what the name is read from goes on.
                below.append(node.child(0))
                continue
            if task == _PLAIN_TEXT and not has_escape:
                continue
            children = node.children
            extend(children)
            if not task:
                continue
            if task == _STATEMENT:
                start = node.start_byte
                if source[start] in b"{fcal" and ambiguity.statement_fault(source, start):
                    return _ambiguous(program, node)
            elif task == _SUBSCRIPT:
                key = children[-2]
                if key.kind_id not in _LITERAL_KEYS:
                    if key.kind_id != _TEMPLATE or any(c.kind_id == _SUBSTITUTION for c in key.children):
                        dynamic = True
                    elif has_escape:
                        escaped_key = True
                elif has_escape and any(c.kind_id == _ESCAPE for c in key.children):
                    escaped_key = True
            elif task in (_TEXT, _PLAIN_TEXT):
                if has_escape and not escaped:
                    escaped = any(child.kind_id == _ESCAPE for child in children)
                if has_template and not tagged and node.kind_id == _TEMPLATE:
                    tagged = _may_be_tagged(source, node.start_byte)
            elif task in (_FUNCTION, _ARROW, _METHOD):
                if task == _ARROW:
                    if ambiguity.arrow_fault(children[-1], source):
                        return _ambiguous(program, node)
                    if not arrows:
                        arrows = ambiguity.arrow_may_be_operand(node.end_byte, source)
                if has_async and ambiguity.function_fault(children, source):
                    return _ambiguous(program, node)
                if scoped and words is not None:
                    words.enter(node, children)
            elif task == _RETURN:
                if ambiguity.return_fault(node, source):
                    return _ambiguous(program, node)
            elif task == _DECLARATION:
                if words is not None and source[node.start_byte] == _SMALL_L:
                    words.keywords[b"let"] += 1
            elif task == _REGEX:
                if ambiguity.regex_fault(children):
                    return _ambiguous(program, node)
            elif task in (_AWAIT, _YIELD):
                if words is not None:
                    words.use(node, awaits=task == _AWAIT)
            elif task == _REGION:
                if scoped and words is not None:
                    words.enter(node, children)
            elif task == _FOR_IN:
                if words is not None and any(child.kind_id == _LET for child in children):
                    words.keywords[b"let"] += 1
            elif task == _COMPUTED:
                computed = True
            elif task == _WITH:
                with_ = True
            elif task == _META:
                meta = True
            elif task == _EXPORT:
                if ambiguity.export_fault(node, source):
                    return _ambiguous(program, node)
            else:
                return _ambiguous(program, node)
        level = below
        depth += 1
    fault = _late_fault(program, depth, limits.depth, arrows=arrows)
    if fault is not None:
        return fault
    if words is not None and (misread := words.fault()) is not None:
        return _ambiguous(program, misread)
    return Survey(
        nodes=nodes,
        depth=depth,
        dynamic_subscript=dynamic,
        escaped_subscript=escaped_key,
        computed_key=computed,
        bare_this=source.count(b"this") != source.count(b"this."),
        with_statement=with_,
        import_export=b"import" in source or b"export" in source,
        meta_property=meta,
        escaped_identifier=b"\\u" in source and _has_escaped_name(program),
        escaped_string=escaped,
        tagged_template=tagged,
        opaque=opaque_spans(root) if spans else (),
    )


def _late_fault(program: ParsedProgram, depth: int, limit: int, *, arrows: bool) -> Rejection | None:
    """Check what needs the whole tree, and only when the pass found a reason to."""
    root, source = program.tree.root_node, program.source
    if depth > limit and (deep := nesting_exceeds(root, limit)) is not None:
        start = min(max(deep.start_byte - program.offset, 0), program.length)
        return Rejection("analysis-limit:depth", start, start, budget=limit)
    if arrows and (operand := ambiguity.arrow_operand(root)) is not None:
        return _ambiguous(program, operand)
    if (hash_bang := ambiguity.hash_bang_fault(root, source)) is not None:
        return _ambiguous(program, hash_bang)
    if (html := ambiguity.html_comment_fault(program)) is not None:
        return Rejection("parser-ambiguity", html[0] - program.offset, html[1] - program.offset)
    return None


def _ambiguous(program: ParsedProgram, node: Node) -> Rejection:
    start = min(max(node.start_byte - program.offset, 0), program.length)
    end = min(max(node.end_byte - program.offset, start), program.length)
    return Rejection("parser-ambiguity", start, end)


def _may_be_tagged(source: bytes, start: int) -> bool:
    """Say whether a template stands behind something that could be its tag, judging by the text alone."""
    before = source[max(0, start - 64) : start].rstrip(_SPACE)
    if not before:
        return start > 0
    word = _OPERATOR.search(before)
    if word is None:
        return _TAG_END.search(before) is not None
    # `a.in` is a property, and what an escape ends is a name.
    return not (rest := before[: word.start()].rstrip(_SPACE)) or rest.endswith((b".", b"/", b"}"))


def _has_escaped_name(program: ParsedProgram) -> bool:
    stack = [program.tree.root_node]
    while stack:
        node = stack.pop()
        if node.child_count:
            stack.extend(node.children)
        elif node.kind_id in _NAMES and b"\\" in program.text(node):
            return True
    return False
