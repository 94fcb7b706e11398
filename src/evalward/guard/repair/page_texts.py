"""Rewrites of what a page is given: handlers as text, markup with handlers, documents that are written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from evalward.guard.repair.code_texts import as_function, as_listener
from evalward.guard.repair.evaluated import quoted
from evalward.guard.repair.reading import (
    Edit,
    Placed,
    Reading,
    arguments_of,
    is_among_statements,
    kind_of,
    statement_around,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_TWO: Final = 2
_TAG: Final = re.compile(
    r"<([a-zA-Z][\w-]*)((?:\s+[^\s=>\"'/]+(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s>\"']+))?)*)\s*/?>"
)
_HANDLER: Final = re.compile(r"\s+on(\w+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s>\"']+))", re.IGNORECASE)
_SOURCE: Final = re.compile(r"\s+src\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s>\"']+))", re.IGNORECASE)
_TEMPLATE: Final = "template"
_OPERANDS: Final = frozenset(
    {"identifier", "string", "template_string", "call_expression", "member_expression"}
)
"""Operands of ``+`` that need no parentheses."""
_LOADING: Final = frozenset({"load", "error"})
_ID: Final = re.compile(r"\sid\s*=\s*[\"']?([A-Za-z][\w-]*)[\"'\s>]")
_INLINE: Final = re.compile(r"<script>(.*?)</script\s*>", re.IGNORECASE | re.DOTALL)
_WHOLE: Final = frozenset({"document.body", "document.documentElement"})
_CHILD: Final = {"beforeend": "lastElementChild", "afterbegin": "firstElementChild"}


class _Markup(NamedTuple):
    """Constant markup: its node, the expression under which its elements are, and the page whose content it is."""

    literal: Node
    scope: str
    page: str


class _Listener(NamedTuple):
    """What a handler becomes. ``source`` is what the element loads: it is set after the listener is there."""

    selector: str
    event: str
    function: str
    source: str = ""


class _Stripped(NamedTuple):
    """Markup without script, and what its script did: listeners, and functions for the text of script elements."""

    markup: str
    listeners: list[_Listener]
    code: list[str]


def handler_text(reading: Reading, placed: Placed) -> list[Edit]:
    """``el.setAttribute('onclick', 'f()')`` → ``el.addEventListener('click', () => f())``."""
    owner, name = reading.callee(placed.node)
    given = arguments_of(placed.node)
    if owner is None or name != "setAttribute" or len(given) != _TWO:
        return []
    attribute, code = (reading.constant(each) for each in given)
    if attribute is None or code is None or not re.fullmatch(r"on[a-z]+", attribute):
        return []
    listener = as_listener(code)
    if listener is None:
        return []
    return [
        reading.edit(
            placed.node,
            f"{reading.text(owner)}.addEventListener({quoted(attribute[2:])}, {listener})",
        )
    ]


def written_document(reading: Reading, placed: Placed) -> list[Edit]:
    """``document.open(); document.write(html); document.close()`` → ``document.documentElement.innerHTML = html``."""
    owner, name = reading.callee(placed.node)
    given = arguments_of(placed.node)
    statement = statement_around(placed)
    if owner is None or reading.text(owner) != "document" or len(given) != 1 or statement is None:
        return []
    if name not in {"write", "writeln"}:
        return []
    block = placed.around[-_TWO] if len(placed.around) >= _TWO else None
    siblings = (
        block.named_children if block is not None and kind_of(block) == "statement_block" else reading.roots
    )
    calls = [_document_call(reading, each) for each in siblings]
    if sum(call in {"write", "writeln"} for call in calls) > 1:
        return []
    html = reading.text(given[0])
    if name == "writeln":
        html = f"{html if kind_of(given[0]) in _OPERANDS else f'({html})'} + '\\n'"
    code = f"document.documentElement.innerHTML = {html}"
    if kind_of(statement) != "expression_statement" and placed.around:
        return [reading.edit(statement, f"{{ {code} }}")]
    edits = [reading.edit(placed.node, code)]
    return edits + [
        reading.edit(each, "")
        for each, call in zip(siblings, calls, strict=True)
        if call in {"open", "close"}
    ]


def scripted_markup(reading: Reading, placed: Placed) -> list[Edit]:
    """Take handlers and inline scripts out of constant markup, and do with a statement of its own what they did."""
    found = _markup_of(reading, placed.node)
    statement = statement_around(placed)
    if found is None or statement is None:
        return []
    markup = reading.constant(found.literal)
    stripped = None if markup is None else _stripped(markup, loads=bool(found.page))
    if stripped is None or not (stripped.listeners or stripped.code) or (stripped.code and not found.page):
        return []
    single = found.scope.endswith("Child")
    if single and (len(_TAG.findall(stripped.markup)) != 1 or len(stripped.listeners) != 1):
        return []
    steps = [_step(each, found.scope, single=single) for each in stripped.listeners]
    if found.page:
        steps = [f"await {found.page}.evaluate(() => {step})" for step in steps]
        steps += [f"await {found.page}.evaluate({code})" for code in stripped.code]
    edit = reading.edit(found.literal, quoted(stripped.markup))
    semicolon = "" if reading.text(statement).endswith(";") else ";"
    if kind_of(statement) == "expression_statement" and is_among_statements(placed, statement):
        return [edit, reading.after(statement, f"{semicolon} {'; '.join(steps)};")]
    first = Edit(reading.edit(statement, "").start, reading.edit(statement, "").start, "{ ")
    return [first, edit, reading.after(statement, f"{semicolon} {'; '.join(steps)} }}")]


def _markup_of(reading: Reading, node: Node) -> _Markup | None:
    """Return the markup that ``node`` gives to the page, None for any other node."""
    if kind_of(node) == "assignment_expression":
        return _assigned(reading, node)
    owner, name = reading.callee(node)
    given = arguments_of(node)
    if owner is None or not given:
        return None
    if name == "setContent":
        return _Markup(given[0], "document", reading.text(owner))
    child = _CHILD.get(reading.constant(given[0]) or "")
    if name != "insertAdjacentHTML" or len(given) != _TWO or child is None:
        return None
    return _Markup(given[1], f"{reading.text(owner)}.{child}", "")


def _assigned(reading: Reading, node: Node) -> _Markup | None:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    owner, name = (None, "") if left is None else reading.member(left)
    if owner is None or right is None or name != "innerHTML":
        return None
    # The elements of a template are in its content, where its own querySelector finds none of them.
    if any(_TEMPLATE in reading.text(root) for root in reading.roots):
        return None
    scope = reading.text(owner)
    if scope in _WHOLE:
        return _Markup(right, "document", "")
    return _Markup(right, scope, "") if kind_of(owner) == "identifier" else None


def _step(listener: _Listener, scope: str, *, single: bool) -> str:
    """Return the code that adds a listener to its element."""
    target = scope if single else f"{scope}.querySelector({quoted(listener.selector)})"
    added = f"addEventListener({quoted(listener.event)}, {listener.function})"
    if not listener.source:
        return f"{target}.{added}"
    return f"{{ const el = {target}; el.{added}; el.src = {quoted(listener.source)} }}"


def _stripped(markup: str, *, loads: bool) -> _Stripped | None:
    """Return ``markup`` without handlers and inline scripts; None where an element cannot be named.

    ``loads``: what the markup loads has been loaded when the next statement runs.
    """
    code = []
    for inline in _INLINE.findall(markup):
        function = as_function(inline, answers=False)
        if function is None:
            return None
        code.append(function)
    listeners: list[_Listener] = []
    seen: set[str] = set()
    parts, at = [], 0
    plain = _INLINE.sub("", markup)
    for tag in _TAG.finditer(plain):
        name, attributes, named = tag[1].lower(), tag[2], _ID.search(tag[0])
        source, delayed = _SOURCE.search(attributes) if loads else None, False
        for handler in _HANDLER.finditer(attributes):
            listener, event = as_listener(handler[2] or handler[3] or handler[4] or ""), handler[1].lower()
            if listener is None or (named is None and name in seen):
                return None
            selector = name if named is None else f"#{named[1]}"
            late = source[1] or source[2] or source[3] if source and event in _LOADING else ""
            delayed = delayed or bool(late)
            listeners.append(_Listener(selector, event, listener, late))
        seen.add(name)
        kept = _HANDLER.sub("", attributes)
        if delayed:
            kept = _SOURCE.sub("", kept)
        parts += [plain[at : tag.start(2)], kept]
        at = tag.end(2)
    return _Stripped("".join([*parts, plain[at:]]), listeners, code)


def _document_call(reading: Reading, statement: Node) -> str:
    """Return the name of the method of ``document`` that the statement calls, the empty text for any other."""
    call = statement.named_children[0] if statement.named_children else statement
    if kind_of(call) != "call_expression":
        return ""
    owner, name = reading.callee(call)
    return name if owner is not None and reading.text(owner) == "document" else ""
