"""The mirror test of contract.md §1: code in source without a row fails, a row without a producer too."""

import ast
from pathlib import Path

from evalward.errors import Code

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "evalward"
NOT_YET = ROOT / "tests" / "data" / "codes-not-yet-produced.txt"
# The registry defines codes and the corpus runner sorts verdicts by them; neither produces any.
NOT_PRODUCERS = {"errors", "corpus"}
ENUM_API = set(dir(Code)) - set(Code.__members__)


def named_codes(tree: ast.AST) -> set[str]:
    """Every code that a module names: ``Code.X``, ``module.Code.X``, ``Code("X")`` and ``Code["X"]``."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and _is_code(node.value) and node.attr not in ENUM_API:
            names.add(node.attr)
        elif isinstance(node, ast.Call) and _is_code(node.func):
            names.update(_texts(node.args))
        elif isinstance(node, ast.Subscript) and _is_code(node.value):
            names.update(_texts([node.slice]))
    return names


def _is_code(node: ast.expr) -> bool:
    return (isinstance(node, ast.Name) and node.id == "Code") or (
        isinstance(node, ast.Attribute) and node.attr == "Code"
    )


def _texts(nodes: list[ast.expr]) -> set[str]:
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def produced_codes(tree: ast.AST) -> set[str]:
    """The codes that a module names other than to compare with them."""
    outside = _Uncompared().visit(tree)
    return named_codes(outside)


class _Uncompared(ast.NodeTransformer):
    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        return ast.copy_location(ast.Constant(value=True), node)

    def visit_match_case(self, node: ast.match_case) -> ast.match_case:
        node.pattern = ast.MatchAs()
        self.generic_visit(node)
        return node


def modules() -> dict[Path, ast.AST]:
    return {
        path.relative_to(SOURCE): ast.parse(path.read_text("utf-8")) for path in sorted(SOURCE.rglob("*.py"))
    }


def not_yet_produced() -> list[str]:
    lines = NOT_YET.read_text("utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def test_scan_sees_every_spelling_and_no_prose() -> None:
    source = '''
"""Code.IN_PROSE"""
raise CodedError(Code.PLAIN, "Code.IN_TEXT")
x = registry.Code.QUALIFIED
y = Code("CALLED"), Code["SUBSCRIPTED"], Code.__members__
# Code.IN_COMMENT
'''
    assert named_codes(ast.parse(source)) == {"PLAIN", "QUALIFIED", "CALLED", "SUBSCRIPTED"}


def test_a_comparison_produces_nothing() -> None:
    source = """
if code is Code.COMPARED or code in (Code.LISTED, Code.TOO):
    raise CodedError(Code.RAISED, "")
match code:
    case Code.MATCHED:
        return Code.RETURNED
"""
    assert produced_codes(ast.parse(source)) == {"RAISED", "RETURNED"}


def test_source_names_no_code_that_the_table_lacks() -> None:
    unknown = {
        (str(path), name)
        for path, tree in modules().items()
        for name in named_codes(tree) - set(Code.__members__)
    }
    assert unknown == set()


def test_every_row_is_produced_or_listed_as_not_yet_produced() -> None:
    produced = set()
    for path, tree in modules().items():
        if path.parts[0] not in NOT_PRODUCERS:
            produced |= produced_codes(tree)
    listed = not_yet_produced()
    assert listed == sorted(set(listed)), "one code a line, sorted"
    assert sorted(set(Code.__members__) - produced) == listed
