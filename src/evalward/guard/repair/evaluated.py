"""Rewrites of evaluated text: pages, timers, ``eval``, ``Function``."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from evalward.guard.repair.code_texts import as_constructed, as_expression, as_function
from evalward.guard.repair.reading import Edit, Placed, Reading, arguments_of, kind_of

if TYPE_CHECKING:
    from tree_sitter import Node

_CODE_AT: Final = {
    **dict.fromkeys(("evaluate", "evaluateHandle", "waitForFunction", "evaluateAll", "addInitScript"), 0),
    **dict.fromkeys(("$eval", "$$eval"), 1),
}
_TIMERS: Final = frozenset({"setTimeout", "setInterval"})
_MAYBE_TEXT: Final = "a value that may be text is handed to a timer"
_MOST_VALUES: Final = 4
_TWO: Final = 2
_VERSIONED: Final = re.compile(r"(?:\.{1,2}/)*package\.json")


def evaluated_page_text(reading: Reading, placed: Placed) -> list[Edit]:
    """``page.evaluate('document.title')`` → ``page.evaluate(() => document.title)``; values become arguments."""
    owner, name = reading.callee(placed.node)
    given, at = arguments_of(placed.node), _CODE_AT.get(name)
    if owner is None or at is None or len(given) <= at:
        return []
    text = reading.constant(given[at])
    if text is None and name == "addInitScript":
        text = _content(reading, given[at])
    if text is not None:
        function = as_function(text, answers=name != "addInitScript")
        return [] if function is None else [reading.edit(given[at], function)]
    return _with_values(reading, given[at]) if len(given) == at + 1 else []


def _content(reading: Reading, node: Node) -> str | None:
    """Return the text of ``{ content: 'text' }``, None for any other node."""
    pairs = node.named_children if kind_of(node) == "object" else []
    if len(pairs) != 1 or kind_of(pairs[0]) != "pair":
        return None
    key, value = pairs[0].child_by_field_name("key"), pairs[0].child_by_field_name("value")
    return reading.constant(value) if key is not None and reading.text(key) == "content" else None


def timer_text(reading: Reading, placed: Placed) -> list[Edit]:
    """``setTimeout('step()', 5)`` → ``setTimeout(() => step(), 5)``; a parameter that may be text is called."""
    _, name = reading.callee(placed.node)
    given = arguments_of(placed.node)
    if name not in _TIMERS or not given:
        return []
    text = reading.constant(given[0])
    if text is not None:
        function = as_function(text, answers=False)
        return [] if function is None else [reading.edit(given[0], function)]
    callback = reading.text(given[0])
    if placed.note != _MAYBE_TEXT or len(given) > _TWO or callback not in _given_to_payload(reading):
        return []
    return [reading.edit(given[0], f"() => {callback}()")]


def _given_to_payload(reading: Reading) -> set[str]:
    """Return the names of the parameters of the payload's own function: what a driver hands over as a callback."""
    roots = reading.roots
    if len(roots) != 1:
        return set()
    single, several = (roots[0].child_by_field_name(name) for name in ("parameter", "parameters"))
    nodes = [*([single] if single else []), *(several.named_children if several else [])]
    return {reading.text(node) for node in nodes if kind_of(node) == "identifier"}


def evaluated_text(reading: Reading, placed: Placed) -> list[Edit]:
    """``eval('2 + 2')`` → ``(2 + 2)``, ``eval('(' + text + ')')`` → ``JSON.parse(text)``."""
    _, name = reading.callee(placed.node)
    given = arguments_of(placed.node)
    if name != "eval" or len(given) != 1:
        return []
    text = reading.constant(given[0])
    if text is not None:
        code = as_expression(text)
        return [] if code is None else [reading.edit(placed.node, code)]
    parts = _concatenated(given[0])
    ends = [reading.constant(part) for part in (parts[0], parts[-1])]
    if ends == ["(", ")"] and len(parts) == _TWO + 1:
        return [reading.edit(placed.node, f"JSON.parse({reading.text(parts[1])})")]
    return []


def constructed_text(reading: Reading, placed: Placed) -> list[Edit]:
    """Write ``new Function('a', 'return a + 1')`` as ``(function (a) { return a + 1 })``."""
    _, name = reading.callee(placed.node)
    texts = [reading.constant(each) for each in arguments_of(placed.node)]
    if name != "Function" or not texts or any(text is None for text in texts):
        return []
    *parameters, body = [text or "" for text in texts]
    code = as_constructed(parameters, body)
    return [] if code is None else [reading.edit(placed.node, code)]


def read_version(reading: Reading, placed: Placed) -> list[Edit]:
    """``() => require('./package.json').version`` → ``({ app }) => app.getVersion()``."""
    owner, name = reading.member(placed.node)
    roots = reading.roots
    if owner is None or name not in {"version", "name"} or kind_of(owner) != "call_expression":
        return []
    given = arguments_of(owner)
    path = reading.constant(given[0]) if given else None
    if reading.callee(owner) != (None, "require") or path is None or not _VERSIONED.fullmatch(path):
        return []
    parameters = roots[0].child_by_field_name("parameters") if len(roots) == 1 else None
    if parameters is None or parameters.named_children or kind_of(roots[0]) != "arrow_function":
        return []
    read = "app.getVersion()" if name == "version" else "app.getName()"
    return [reading.edit(parameters, "({ app })"), reading.edit(placed.node, read)]


def _with_values(reading: Reading, node: Node) -> list[Edit]:
    """Return the function for a text into which values are put as JSON, with the values as its argument."""
    code, values = "", list[str]()
    for part in _pieces(reading, node):
        if isinstance(part, str):
            code += part
            continue
        value = _as_json(reading, part)
        if value is None or len(values) >= _MOST_VALUES:
            return []
        code += f"v{len(values)}"
        values.append(value)
    if not values or re.search(
        r"\bv\d\b", "".join(each for each in _pieces(reading, node) if isinstance(each, str))
    ):
        return []
    function = as_function(code, answers=True)
    if function is None or not function.startswith("() =>"):
        return []
    names = [f"v{number}" for number in range(len(values))]
    if len(values) == 1:
        return [reading.edit(node, f"{names[0]}{function.removeprefix('()')}, {values[0]}")]
    return [reading.edit(node, f"([{', '.join(names)}]){function.removeprefix('()')}, [{', '.join(values)}]")]


def _pieces(reading: Reading, node: Node) -> list[str | Node]:
    """Return constant texts and the nodes between them."""
    found: list[str | Node] = []
    for part in _concatenated(node):
        text = reading.constant(part)
        if text is not None:
            found.append(text)
        elif kind_of(part) == "template_string":
            for child in part.named_children:
                inner = kind_of(child) == "template_substitution"
                found.append(child.named_children[0] if inner else reading.text(child))
        else:
            found.append(part)
    return found


def _concatenated(node: Node) -> list[Node]:
    """Return the operands of a chain of ``+``."""
    parts: list[Node] = []
    while kind_of(node) == "binary_expression":
        operator, right = node.child_by_field_name("operator"), node.child_by_field_name("right")
        left = node.child_by_field_name("left")
        if operator is None or right is None or left is None or operator.type != "+":
            break
        parts.append(right)
        node = left
    return [node, *reversed(parts)]


def _as_json(reading: Reading, node: Node) -> str | None:
    if kind_of(node) != "call_expression":
        return None
    owner, name = reading.callee(node)
    given = arguments_of(node)
    is_json = owner is not None and reading.text(owner) == "JSON" and name == "stringify"
    return reading.text(given[0]) if is_json and len(given) == 1 else None


def quoted(text: str) -> str:
    """Return ``text`` as a string literal."""
    plain = json.dumps(text, ensure_ascii=False)[1:-1].replace('\\"', '"')
    return f"'{plain}'" if "'" not in text else json.dumps(text, ensure_ascii=False)
