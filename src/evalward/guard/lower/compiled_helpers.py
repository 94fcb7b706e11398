"""Recognition of the helpers that compilers add for ``async`` functions and generators (guard.md §2).

``__awaiter``, ``__generator``, ``_async_to_generator`` and similar helpers run a function as a state machine: the
results and the arguments of all steps meet in the same variables. Their effect is known, so the interpreter runs the
code that they were compiled from (``interpret.calls.helper_calls``). A function is such a helper when its text is that
of one in ``catalogue/compiled.toml``, as compilers and minifiers write it, except for space and variable names.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from itertools import count
from typing import TYPE_CHECKING

from tree_sitter import Parser

from evalward.guard.domain.instructions import Op
from evalward.guard.syntax.grammar import LANGUAGE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node

    from evalward.guard.lower.drafts import UnitDraft

FUNCTIONS = frozenset({"arrow_function", "function_expression", "function_declaration"})
_MARKS = (b"trys", b"Promise")  # each helper has one of these
_LONGEST = 4_000
_GLOBALS = frozenset({"Promise", "Object", "Symbol", "Iterator", "TypeError"})
_PUNCTUATION = frozenset({";", ",", "(", ")", "{", "}"})
_DECLARING = frozenset({"variable_declarator", "function_declaration"})
_BRANCHES = frozenset({"if_statement", "else_clause", "for_statement", "while_statement"})
_ALIKE = {"function_declaration": "function_expression"}
_KEPT = _GLOBALS | {"arguments"}


def may_be_compiled(source: bytes) -> bool:
    """Whether a text may have helpers in it."""
    return b"throw" in source and b"next" in source and any(mark in source for mark in _MARKS)


def _form(node: Node, source: bytes) -> tuple[str, list[str]]:
    """Return a function's tree with numbers for its variables, and its free names.

    What a minifier writes otherwise without a change of the tree is the same: brackets, semicolons, quotes, the braces
    of a single statement, ``y["return"]`` for ``y.return``.
    """
    tokens: list[str] = []
    free: list[str] = []
    scopes: list[dict[str, str]] = []
    numbers = count()
    declared = node.child_by_field_name("name")  # is no part of what it does
    pending: list[Node | str | None] = [node]
    while pending:
        current = pending.pop()
        if current is None:
            scopes.pop()
            continue
        if isinstance(current, str):
            tokens.append(current)
            continue
        kind = current.type
        if kind in _PUNCTUATION or "comment" in kind or (declared is not None and current == declared):
            continue
        if kind in FUNCTIONS or kind == "catch_clause":
            scopes.append({name: f"${next(numbers)}" for name in _bound_in(current, source)})
            pending.append(None)
        if kind == "string":
            text = source[current.start_byte + 1 : current.end_byte - 1].decode()
            tokens.append(text if tokens[-1] == "pair" else f"'{text}'")
        elif kind in {"subscript_expression", "member_expression"}:
            pending.extend([")", *reversed(_member(current, source)), "member"])
        elif kind == "parenthesized_expression":
            pending.extend(reversed(current.children))
        elif current.child_count:
            parts = _statements(current) if kind in _BRANCHES else current.children
            pending.extend([")", *reversed(parts), _ALIKE.get(kind, kind)])
        else:
            text = source[current.start_byte : current.end_byte].decode()
            if kind == "identifier":
                text = _numbered(text, scopes, free)
            tokens.append(text)
    return " ".join(tokens), free


def _numbered(name: str, scopes: list[dict[str, str]], free: list[str]) -> str:
    for scope in reversed(scopes):
        if name in scope:
            return scope[name]
    if name in _KEPT:
        return name
    if name not in free:
        free.append(name)
    return f"free{free.index(name)}"


def _bound_in(node: Node, source: bytes) -> list[str]:
    """Return the names that a function or a ``catch`` binds, in order of appearance; each stands once."""
    names: dict[str, None] = {}
    if node.type == "catch_clause":
        pending = [part for part in [node.child_by_field_name("parameter")] if part is not None]
    else:
        parameters = node.child_by_field_name("parameters") or node.child_by_field_name("parameter")
        body = node.child_by_field_name("body")
        pending = [part for part in (body, parameters) if part is not None]
    binding = {node.child_by_field_name("parameter"), *pending[-1].named_children} if pending else set()
    while pending:
        current = pending.pop()
        name = current.child_by_field_name("name") if current.type in _DECLARING else None
        for part in (name, current if current in binding else None):
            if part is not None and part.type == "identifier":
                names[source[part.start_byte : part.end_byte].decode()] = None
        if current.type not in FUNCTIONS:
            pending.extend(reversed(current.named_children))
    return list(names)


def _member(node: Node, source: bytes) -> list[Node | str]:
    """Return the parts of ``a.b``, ``a["b"]`` and ``a[b]``: of the first two they are the same."""
    owner, index = node.child_by_field_name("object"), node.child_by_field_name("index")
    if owner is None or index is None or node.child_by_field_name("optional_chain") is not None:
        return list(node.children)
    if index.type == "string":
        return [owner, ".", source[index.start_byte + 1 : index.end_byte - 1].decode()]
    return [owner, "[", index]


def _statements(node: Node) -> list[Node]:
    """Return the parts of a statement, a block of one statement as that."""
    return [
        child.named_children[0] if child.type == "statement_block" and child.named_child_count == 1 else child
        for child in node.children
    ]


@cache
def _helpers() -> dict[str, tuple[str, int]]:
    """Return the effect of each form of a helper, and the number of the function that it calls, or -1."""
    parser = Parser(LANGUAGE)
    found: dict[str, tuple[str, int]] = {}
    document = tomllib.loads((files("evalward.guard.catalogue") / "compiled.toml").read_text("utf-8"))
    for role, texts in document.items():
        for text in texts:
            source = f"({text})".encode()
            node = parser.parse(source).root_node.named_children[0].named_children[0].named_children[0]
            form, names = _form(node, source)
            if role == "wrapper" and "asyncGeneratorStep" not in names:
                raise ValueError(text)
            found[form] = role, names.index("asyncGeneratorStep") if "asyncGeneratorStep" in names else -1
    return found


def helper_of(node: Node, source: bytes) -> tuple[str, str]:
    """Return a function's effect as a helper, and the name of the function that it calls; empty for others."""
    text = source[node.start_byte : node.end_byte]
    if len(text) > _LONGEST or not (b"throw" in text or b"catch" in text or b"next" in text):
        return "", ""
    form, names = _form(node, source)
    role, number = _helpers().get(form, ("", -1))
    return role, names[number] if number >= 0 else ""


def bind_helpers(units: Sequence[UnitDraft]) -> None:
    """Keep only the helpers whose ``Promise`` and other globals are the real ones."""
    for helper in units:
        if not helper.helper:
            continue
        helper.only_called = True
        for unit in units:
            if not unit.is_within(helper):
                continue
            for instruction in unit.code:
                if instruction[0] is Op.LOAD:
                    name, register = instruction[2].name, instruction[2].register
                    if name in _GLOBALS and register >= 0:
                        helper.helper = ""
                    elif name == helper.calls_helper:
                        helper.called = register
