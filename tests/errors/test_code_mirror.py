"""The mirror test of contract.md §1: a code in the source without a row fails, and so does a row without a producer.

It reads the source by its syntax tree, so that prose, comments and the text of a payload are no codes.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evalward.errors import Code

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "evalward"
# None of these produces codes: the registry defines them, the corpus runner sorts verdicts by them, a description lists
# those of a call.
NOT_PRODUCERS = {"errors", "corpus", "fuzz", "tools/describe.py", "server/selftest.py", "verdict_cache.py"}
ENUM_API = set(dir(Code)) - set(Code.__members__)
CODE_TEXT = re.compile(r"([a-z][a-z0-9_]*\.)?[A-Z][A-Z0-9]*(_[A-Z0-9]+)*")
"""What a code looks like, with or without the namespace of a plugin."""


def named_codes(tree: ast.AST, takers: dict[str, int]) -> set[str]:
    """Every code that a module names: members of ``Code``, and literals in the place of a code.

    ``takers`` are the callables with a parameter ``code``, and its place.
    """
    return {*_members(tree), *_literals(tree, takers)}


def _members(tree: ast.AST) -> Iterator[str]:
    """``Code.X``, ``module.Code.X``, ``Code("X")`` and ``Code["X"]``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and _is_code(node.value) and node.attr not in ENUM_API:
            yield node.attr
        elif isinstance(node, ast.Call) and _is_code(node.func):
            yield from _texts(node.args)
        elif isinstance(node, ast.Subscript) and _is_code(node.value):
            yield from _texts([node.slice])


def _literals(tree: ast.AST, takers: dict[str, int]) -> Iterator[str]:
    """``{"code": "X"}``, ``code="X"``, ``code = "X"``, ``x["code"] = "X"``, and ``f("X")`` where f takes a code."""
    for node in ast.walk(tree):
        places: Iterable[ast.expr | None] = ()
        if isinstance(node, ast.Dict):
            pairs = zip(node.keys, node.values, strict=True)
            places = [value for key, value in pairs if key is not None and _texts([key]) == {"code"}]
        elif isinstance(node, ast.Call):
            place = takers.get(_name_of(node.func), len(node.args))
            places = [
                *node.args[place : place + 1],
                *(keyword.value for keyword in node.keywords if keyword.arg == "code"),
            ]
        elif isinstance(node, ast.Assign):
            places = [node.value] if any(map(_is_place_of_code, node.targets)) else []
        elif isinstance(node, ast.AnnAssign):
            places = [node.value] if _is_place_of_code(node.target) else []
        elif isinstance(node, ast.Compare) and _is_place_of_code(node.left):
            places = node.comparators
        for place_of_code in places:
            if place_of_code is not None:
                yield from filter(CODE_TEXT.fullmatch, _texts(_alternatives(place_of_code)))


def _is_place_of_code(node: ast.expr) -> bool:
    if isinstance(node, ast.Subscript):
        return _texts([node.slice]) == {"code"}
    return _name_of(node) == "code"


def _alternatives(node: ast.expr) -> list[ast.expr]:
    """The expressions whose value ``node`` can have: both branches of a condition, every operand of ``or``."""
    if isinstance(node, ast.IfExp):
        return [*_alternatives(node.body), *_alternatives(node.orelse)]
    if isinstance(node, (ast.BoolOp, ast.Tuple, ast.List, ast.Set)):
        parts = node.values if isinstance(node, ast.BoolOp) else node.elts
        return [each for part in parts for each in _alternatives(part)]
    return [node]


def _name_of(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _is_code(node: ast.expr) -> bool:
    return _name_of(node) == "Code"


def _texts(nodes: list[ast.expr]) -> set[str]:
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def takers_of_codes(trees: Iterable[ast.AST]) -> dict[str, int]:
    """The functions and classes of the source that take a code, each with the place of the argument."""
    takers = {}
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and (place := _place(node)) is not None:
                takers[node.name] = place
            if isinstance(node, ast.ClassDef):
                for each in node.body:
                    init = isinstance(each, ast.FunctionDef) and each.name == "__init__"
                    if init and (place := _place(each)) is not None:  # type: ignore[arg-type]  # it is one
                        takers[node.name] = place
    return takers


def _place(function: ast.FunctionDef) -> int | None:
    names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    bound = names[1:] if names[:1] in (["self"], ["cls"]) else names
    return bound.index("code") if "code" in bound else None


def produced_codes(tree: ast.AST, takers: dict[str, int]) -> set[str]:
    """The codes that a module can return.

    Comparisons, patterns, look-ups and lists of codes do not count.
    """
    return named_codes(_Answering().visit(tree), takers)


class _Answering(ast.NodeTransformer):
    """Skips expressions that only refer to codes: comparisons, patterns, keys, and collections."""

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, (ast.Compare, ast.List, ast.Set, ast.Tuple)):
            return ast.copy_location(ast.Constant(value=True), node)
        return super().visit(node)

    def visit_Dict(self, node: ast.Dict) -> ast.Dict:
        keys: list[ast.expr | None] = [
            each if isinstance(each, ast.Constant) else ast.Constant(value=None) for each in node.keys
        ]
        return ast.copy_location(ast.Dict(keys=keys, values=[self.visit(each) for each in node.values]), node)

    def visit_match_case(self, node: ast.match_case) -> ast.match_case:
        node.pattern = ast.MatchAs()
        self.generic_visit(node)
        return node


def modules() -> dict[Path, ast.Module]:
    return {
        path.relative_to(SOURCE): ast.parse(path.read_text("utf-8")) for path in sorted(SOURCE.rglob("*.py"))
    }


@pytest.fixture(scope="module")
def takers() -> dict[str, int]:
    """Return what in the source takes a code."""
    return takers_of_codes(modules().values())


def test_the_scan_sees_every_spelling_and_no_prose() -> None:
    source = '''
"""Code.IN_PROSE, {"code": "IN_PROSE"}"""
raise CodedError(Code.PLAIN, "Code.IN_TEXT")
x = registry.Code.QUALIFIED
y = Code("CALLED"), Code["SUBSCRIPTED"], Code.__members__
# Code.IN_COMMENT
'''
    assert named_codes(ast.parse(source), {}) == {"PLAIN", "QUALIFIED", "CALLED", "SUBSCRIPTED"}


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    "source",
    [
        'envelope = {"ok": False, "code": "NEW_CODE"}',
        'error_envelope("NEW_CODE", "It failed.", meta=meta)',
        'errors.error_envelope("NEW_CODE", "It failed.", meta=meta)',
        'raise CodedError("NEW_CODE", "It failed.")',
        'raise CodedError(code="NEW_CODE", message="It failed.")',
        'dict(code="NEW_CODE")',
        'row_of("NEW_CODE")',
        'code = "NEW_CODE"',
        'code: str = "NEW_CODE"',
        'self.code = "NEW_CODE"',
        'envelope["code"] = "NEW_CODE"',
        'code = "INTERNAL" if broken else "NEW_CODE"',
        'code = found or "NEW_CODE"',
        'if envelope["code"] == "NEW_CODE": pass',
        'if code in ("INTERNAL", "NEW_CODE"): pass',
        'plugin = {"code": "production.NEW_CODE"}',
    ],
)
def test_a_literal_code_is_found(source: str, takers: dict[str, int]) -> None:
    found = {name.rpartition(".")[2] for name in named_codes(ast.parse(source), takers)}

    assert "NEW_CODE" in found
    assert unknown_codes({Path("new.py"): ast.parse(source)}, takers)


def test_a_code_that_is_only_asked_about_or_listed_is_not_produced() -> None:
    source = """
if code is Code.COMPARED or code in (Code.LISTED, Code.TOO):
    raise CodedError(Code.RAISED, "")
WORDS = {Code.KEY: "text"}
ENDS = {"memory": Code.VALUE}
CODES = frozenset({Code.MEMBER})
match code:
    case Code.MATCHED:
        return Code.RETURNED
"""
    assert produced_codes(ast.parse(source), {}) == {"RAISED", "RETURNED", "VALUE"}


def unknown_codes(trees: dict[Path, ast.Module], takers: dict[str, int]) -> set[tuple[str, str]]:
    return {
        (str(path), name)
        for path, tree in trees.items()
        for name in named_codes(tree, takers) - set(Code.__members__)
    }


def test_source_names_no_code_that_the_table_lacks(takers: dict[str, int]) -> None:
    assert unknown_codes(modules(), takers) == set()


@pytest.mark.exhaustive
def test_every_row_is_produced(takers: dict[str, int]) -> None:
    produced = set()
    for path, tree in modules().items():
        if not {path.parts[0], path.as_posix()} & NOT_PRODUCERS:
            produced |= produced_codes(tree, takers)

    assert sorted(set(Code.__members__) - produced) == []
