"""Regular expressions that can take exponential time: the construct ``catastrophic-regex`` (CWE-1333).

A backtracking engine takes exponential time where the pattern's automaton is *exponentially ambiguous*: some text
leads from a position back to itself in two ways (Weideman et al., CIAA 2016), and the rest of the pattern can fail.
Polynomial patterns are not searched for. A pattern that costs more than the budget is reported, because it is not
proven harmless.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.checks.regex_syntax import TooComplexError, automaton
from evalward.guard.syntax.grammar import kind, kinds
from evalward.guard.syntax.literals import unescape

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from evalward.guard.checks.regex_syntax import Automaton
    from evalward.guard.syntax.program import ParsedProgram

_BUDGET = 200_000
_REGEX = kind("regex")
_CALLS = kinds("call_expression", "new_expression")
_IDENTIFIER, _STRING, _ARGUMENTS = kind("identifier"), kind("string"), kind("arguments")


def catastrophic_regexes(program: ParsedProgram, *, limit: int) -> tuple[tuple[int, int], ...]:
    """Return the payload spans of at most ``limit`` regular expressions that are not proven harmless."""
    found: list[tuple[int, int]] = []
    budget = _BUDGET
    for node, pattern, flags in _regexes(program):
        catastrophic, budget = _judge(pattern, flags, budget)
        if catastrophic:
            found.append((node.start_byte - program.offset, node.end_byte - program.offset))
            if len(found) == limit:
                break
    return tuple(found)


def is_catastrophic(pattern: str, flags: str = "") -> bool:
    """Say whether matching ``pattern`` can take exponential time, or is too expensive to decide."""
    return _judge(pattern, flags, _BUDGET)[0]


def _judge(pattern: str, flags: str, budget: int) -> tuple[bool, int]:
    """Return the answer for one pattern, and the rest of the budget."""
    try:
        made = automaton(pattern, flags, budget=budget)
        return _is_ambiguous(made), made.budget
    except TooComplexError:
        return True, 0


def _regexes(program: ParsedProgram) -> Iterator[tuple[Node, str, str]]:
    """Yield every literal, and every ``RegExp`` with constant text, in the order of the text."""
    stack = [program.tree.root_node]
    while stack:
        node = stack.pop()
        if node.kind_id == _REGEX:
            pattern, _, flags = program.text(node)[1:].decode().rpartition("/")
            yield node, pattern, flags
        elif node.kind_id in _CALLS and (texts := _constant_arguments(program, node)):
            yield node, texts[0], texts[1] if len(texts) > 1 else ""
        stack.extend(reversed(node.children))


def _constant_arguments(program: ParsedProgram, node: Node) -> list[str]:
    """Return the string arguments of a call of ``RegExp``, up to the first that is none."""
    callee = node.children[1] if node.children[0].type == "new" else node.children[0]
    arguments = node.children[-1]
    if callee.kind_id != _IDENTIFIER or program.text(callee) != b"RegExp" or arguments.kind_id != _ARGUMENTS:
        return []
    texts: list[str] = []
    for child in arguments.named_children:
        value = unescape(program.text(child)[1:-1].decode()) if child.kind_id == _STRING else None
        if value is None:
            break
        texts.append(value)
    return texts


def _is_ambiguous(made: Automaton) -> bool:
    """Look for a text that leads from a position back to itself in two ways, where the rest may fail."""
    for part in _components(made):
        inside = {
            source: {aim: ways for aim, ways in made.edges[source].items() if aim in part} for source in part
        }
        endless = any((source, aim) in made.loops for source in part for aim in inside[source])
        if not endless or part <= made.last:
            continue
        if any(ways > 1 for aims in inside.values() for ways in aims.values()):
            return True
        if _meet_again(made, inside):
            return True
    return False


def _meet_again(made: Automaton, inside: dict[int, dict[int, int]]) -> bool:
    """Say whether two ways that part at one position, and read the same text, come together again."""
    seen: set[tuple[int, int]] = set()
    pending = [(source, source) for source in inside]
    while pending:
        left, right = pending.pop()
        made.spend(1 + len(inside[left]) * len(inside[right]))
        for one in inside[left]:
            for other in inside[right]:
                if not made.masks[one] & made.masks[other] or (one == other and left == right):
                    continue
                if one == other:
                    return True
                pair = (min(one, other), max(one, other))
                if pair not in seen:
                    seen.add(pair)
                    pending.append(pair)
    return False


def _components(made: Automaton) -> Iterator[frozenset[int]]:
    """Yield the strongly connected components that hold an edge (Kosaraju, iterative)."""
    made.spend(2 * sum(map(len, made.edges)) + len(made.edges))
    order = _finish_order(made.edges)
    backward: list[list[int]] = [[] for _ in made.edges]
    for source, aims in enumerate(made.edges):
        for aim in aims:
            backward[aim].append(source)
    taken: set[int] = set()
    for root in reversed(order):
        if root in taken:
            continue
        taken.add(root)
        component, pending = {root}, [root]
        while pending:
            for source in backward[pending.pop()]:
                if source not in taken:
                    taken.add(source)
                    component.add(source)
                    pending.append(source)
        if len(component) > 1 or root in made.edges[root]:
            yield frozenset(component)


def _finish_order(edges: list[dict[int, int]]) -> list[int]:
    order: list[int] = []
    seen: set[int] = set()
    for root in range(len(edges)):
        if root in seen:
            continue
        seen.add(root)
        stack = [(root, iter(edges[root]))]
        while stack:
            position, rest = stack[-1]
            aim = next((each for each in rest if each not in seen), None)
            if aim is None:
                order.append(position)
                stack.pop()
            else:
                seen.add(aim)
                stack.append((aim, iter(edges[aim])))
    return order
