"""Where V8 reads a text differently from this grammar although the tree has no error (guard.md §4, U1 to U12).

U7 is in ``survey``. Each rule is deliberately wider than the difference that it stands for: it may also reject what V8
rejects. The one pass in ``survey`` calls the checks of single nodes. The checks of the text decide first whether the
text holds anything to search for.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from evalward.guard.syntax.grammar import COMMENTS, kind, kinds
from evalward.guard.syntax.opaque_spans import COMMENT, opaque_spans, span_around
from evalward.guard.syntax.words import LINE_BREAK
from evalward.guard.target import Shape

if TYPE_CHECKING:
    from tree_sitter import Node

    from evalward.guard.syntax.opaque_spans import OpaqueSpan
    from evalward.guard.syntax.program import ParsedProgram

_LONE_BREAK = re.compile(rb"\r|\xe2\x80[\xa8\xa9]")
LONE_CR = re.compile(rb"\r(?!\n)")
# Space and line ends that are not ASCII (ECMA-262 §12.2, §12.3).
UNUSUAL_SPACE = re.compile(
    rb"\xc2\xa0|\xef\xbb\xbf|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]|\xe2\x81\x9f|\xe3\x80\x80"
)
_TRIVIA = re.compile(
    rb"(?:[\t\n\v\f\r ]|"
    + UNUSUAL_SPACE.pattern
    + rb"|//(?:[^\n\r\xe2]|\xe2(?!\x80[\xa8\xa9]))*+|/\*(?:[^*]|\*(?!/))*+\*/)*+"
)
_PLAIN_SPACE = b"\t\v\f "
_LINE_ENDS = (b"\n", b"\r", b"\xe2\x80\xa8", b"\xe2\x80\xa9")
# What continues an expression from the line above, and what such an expression does not end in.
_GOES_ON = b"`,:;*%><=[(?^|&/.+-!i"
_BEFORE_EXPRESSION = b";{(,[=?:&|"
# No more than this are examined, so that a text of comments does not cost quadratic time.
_COMMENTS_IN_A_ROW = 64
_BRACE = 0x7B
_HTML = re.compile(rb"<!--|-->")
_LEADING_COMMENTS = re.compile(rb"(?:[^\S\r\n]|\xc2\xa0|\xef\xbb\xbf|/\*(?:[^*]|\*(?!/))*+\*/)*+\Z")
_HASH_BANG = kind("hash_bang_line")
_HTML_COMMENT = kind("html_comment")
_ARROW = kind("arrow_function")
_BLOCK = kind("statement_block")
_ASYNC = kind("async", named=False)
_SEMICOLON = kind(";", named=False)
_BODIED_VALUES = kinds(
    "function_expression",
    "generator_function",
    "class",
    "function_declaration",
    "generator_function_declaration",
    "class_declaration",
    "arrow_function",
)
_OPERATIONS = kinds(
    "binary_expression",
    "call_expression",
    "member_expression",
    "subscript_expression",
    "ternary_expression",
    "update_expression",
)
_DECLARES = re.compile(
    rb"(?:function|class|async(?:[^\S\r\n]|/\*(?:[^*]|\*(?!/))*+\*/)*+function)(?![\w$])|let\s*\["
)
_AFTER_ARROW = re.compile(rb"(?:[\t\n\v\f\r ]|//[^\n\r\xe2]*+|/\*(?:[^*]|\*(?!/))*+\*/)*+")
# A letter may begin a statement (`in` and `instanceof` would be errors in V8); the rest end an expression.
_ENDS_EXPRESSION = re.compile(rb"[),;\]}:A-Za-z_$#@'\"{0-9]|\Z")


_NAMED_CONTEXTUALLY = re.compile(rb"(?<![\w$.])(?:var|function)\s++(yield|await)(?![\w$])")


def hash_bang_fault(root: Node, source: bytes) -> Node | None:
    """U3: V8 ends a hashbang at CR, LS and PS too, the tree only at LF."""
    if not source.startswith(b"#!"):
        return None
    first = root.children[0]
    whole = first.kind_id == _HASH_BANG and not _LONE_BREAK.search(source, 0, first.end_byte)
    return None if whole else first


def html_comment_fault(program: ParsedProgram) -> tuple[int, int] | None:
    """U1, U2: an html-like comment that V8 ends sooner, or that only one of the two sees (ECMA-262 B.1.1).

    To the grammar's rule that inserts semicolons such a comment is a token: what continues the line above is rejected.
    """
    source = program.source
    if b"<!--" not in source and b"-->" not in source:
        return None
    spans = opaque_spans(program.tree.root_node)
    for match in _HTML.finditer(source):
        start, end = match.span()
        around = span_around(spans, start, end)
        if around is None and (match[0] == b"<!--" or _begins_line(source, start, spans)):
            return start, end
        if around is None or around[2] != COMMENT or start != around[0]:
            continue
        if (
            Shape.MODULE in program.shapes
            or _LONE_BREAK.search(source, end, around[1])
            or (match[0] == b"-->" and not _begins_line(source, start, spans))
            or _goes_on(source, around[1], start, spans)
        ):
            return start, end
    return None


def contextual_name_fault(payload: bytes) -> tuple[int, int] | None:
    """U4 where the tree is broken: a sloppy script that declares ``yield`` or ``await`` may run in V8."""
    match = _NAMED_CONTEXTUALLY.search(payload)
    return match.span(1) if match else None


def line_comment_fault(program: ParsedProgram) -> tuple[int, int] | None:
    """U11: the grammar's rule that inserts semicolons reads on past a lone CR behind ``//``, V8 does not.

    ``x//`` CR ``/P/g`` divides in V8; the tree ends the statement at the comment and sees a regular expression.
    """
    source = program.source
    if b"//" not in source or not LONE_CR.search(source):
        return None
    spans = opaque_spans(program.tree.root_node)
    for start, end, label in spans:
        if label != COMMENT or not source.startswith(b"//", start) or not LONE_CR.match(source, end):
            continue
        if _follows_expression(source, start, spans, broken=True):
            return start, end
    return None


def unusual_space_fault(program: ParsedProgram) -> tuple[int, int] | None:
    """U12: to the grammar's rule that inserts semicolons, white space that is not ASCII is a token.

    ``f`` LF NBSP ``(x)`` calls in V8 and is two statements in the tree; so is a division there.
    """
    source = program.source
    if source.isascii() or not UNUSUAL_SPACE.search(source):
        return None
    spans = opaque_spans(program.tree.root_node)
    checked = 0
    for match in UNUSUAL_SPACE.finditer(source):
        start = match.start()
        if start < checked or span_around(spans, start, start + 1) is not None:
            continue
        trivia = _TRIVIA.match(source, start)
        checked = trivia.end() if trivia else start
        if source[checked : checked + 1] not in _GOES_ON or checked == len(source):
            continue
        *_, last = UNUSUAL_SPACE.finditer(source, start, checked)
        broken = LINE_BREAK.search(source, start, last.start()) is not None
        if _follows_expression(source, start, spans, broken=broken):
            return start, checked
    return None


def _goes_on(source: bytes, end: int, start: int, spans: tuple[OpaqueSpan, ...]) -> bool:
    """Say whether the token behind ``end`` may continue an expression that ends before ``start``."""
    trivia = _TRIVIA.match(source, end)
    place = trivia.end() if trivia else end
    return source[place : place + 1] in _GOES_ON and _follows_expression(source, start, spans, broken=True)


def _follows_expression(
    source: bytes, start: int, spans: tuple[OpaqueSpan, ...], *, broken: bool = False
) -> bool:
    """Say whether a line break (unless ``broken`` already) and the end of an expression may precede ``start``."""
    position = start
    for _ in range(_COMMENTS_IN_A_ROW):
        position, passed = _before_space(source, position)
        broken |= passed
        around = span_around(spans, position - 1, position) if position else None
        if around is None or around[2] != COMMENT:
            return broken and bool(position) and source[position - 1] not in _BEFORE_EXPRESSION
        broken |= LINE_BREAK.search(source, around[0], around[1]) is not None
        position = around[0]
    return True


def _before_space(source: bytes, position: int) -> tuple[int, bool]:
    """Step back over space and line ends before ``position``; say whether there was a line end."""
    broken = False
    while position:
        if source[position - 1] in _PLAIN_SPACE:
            position -= 1
        elif source.endswith(_LINE_ENDS, 0, position):
            position -= 1 if source[position - 1] in b"\n\r" else 3
            broken = True
        elif UNUSUAL_SPACE.fullmatch(source, max(0, position - 2), position):
            position -= 2
        elif UNUSUAL_SPACE.fullmatch(source, max(0, position - 3), position):
            position -= 3
        else:
            break
    return position, broken


def _begins_line(source: bytes, start: int, spans: tuple[OpaqueSpan, ...]) -> bool:
    """Say whether only space and comments lie between a line break (or the payload's start) and ``start``."""
    position = start
    while True:
        position, broken = _before_space(source, position)
        if broken or not position:
            return True
        around = span_around(spans, position - 1, position)
        if around is None or around[2] != COMMENT:
            return False
        if LINE_BREAK.search(source, around[0], around[1]):
            return True
        position = around[0]


def statement_fault(source: bytes, start: int) -> bool:
    """U8, U9, U10: an expression statement begins with a token that V8 reads as a block or a declaration."""
    first = source[start]
    if first == _BRACE:
        return True
    return first in b"fcal" and _DECLARES.match(source, start) is not None


def function_fault(children: list[Node], source: bytes) -> bool:
    """``async`` and a line break: V8 reads a name and a plain function, in which ``await`` is also a name."""
    for index, child in enumerate(children):
        if child.kind_id == _ASYNC:
            following = next(each for each in children[index + 1 :] if each.kind_id not in COMMENTS)
            return LINE_BREAK.search(source, child.end_byte, following.start_byte) is not None
    return False


def arrow_fault(body: Node, source: bytes) -> bool:
    """U9 for concise bodies: ``{`` behind ``=>`` always begins a block."""
    return body.kind_id != _BLOCK and source[body.start_byte] == _BRACE


def arrow_may_be_operand(end: int, source: bytes) -> bool:
    """U6, a cheap test: say whether the text behind an arrow function could use it as an operand."""
    match = _AFTER_ARROW.match(source, end)
    return _ENDS_EXPRESSION.match(source, match.end() if match else end) is None


def arrow_operand(root: Node) -> Node | None:
    """U6: an arrow function as operand or callee, which ECMA-262 forbids and the tree allows."""
    stack = [root]
    while stack:
        node = stack.pop()
        if not node.child_count:
            continue
        children = node.children
        if node.kind_id in _OPERATIONS and children[0].kind_id == _ARROW:
            return node
        stack.extend(children)
    return None


def regex_fault(children: list[Node]) -> bool:
    """U5: a comment, or a name that does not directly follow the closing slash, is no set of flags."""
    return any(child.kind_id in COMMENTS for child in children) or any(
        left.end_byte != right.start_byte for left, right in itertools.pairwise(children)
    )


def return_fault(node: Node, source: bytes) -> bool:
    """Find a line break behind ``return``, which always ends the statement in V8 (ECMA-262 §12.10.1)."""
    after = node.start_byte + len(b"return")
    if source[after : after + 1] not in b" ({[\"'`;}":
        return _broken_return(node, source, after)
    return source[after + 1 : after + 2] in b"\n\r\xe2 /\t" and _broken_return(node, source, after)


def _broken_return(node: Node, source: bytes, after: int) -> bool:
    for child in node.children[1:]:
        if child.kind_id not in COMMENTS and child.kind_id != _SEMICOLON:
            return LINE_BREAK.search(source, after, child.start_byte) is not None
    return False


def export_fault(node: Node, source: bytes) -> bool:
    """``export default function () {} / …`` declares and begins a regular expression in V8."""
    return any(
        child.kind_id not in _BODIED_VALUES and _DECLARES.match(source, child.start_byte) is not None
        for child in node.children
        if child.is_named
    )
