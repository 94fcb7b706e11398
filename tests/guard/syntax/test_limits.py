from __future__ import annotations

import gc
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from guard_cases import RULES, verdict

from evalward.codes import Code
from evalward.guard.rules import Limits
from evalward.guard.syntax.depth import nesting_exceeds
from evalward.guard.syntax.parse import BudgetFault, Meter, SyntaxFault, parse
from evalward.guard.syntax.shapes import Rejection, programs_of
from evalward.guard.syntax.survey import survey
from evalward.guard.target import Shape

WIDE = Limits(payload_bytes=1 << 20)
HOSTILE = yaml.safe_load((Path(__file__).parents[2] / "data/hostile_text.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("size", [16_384, 65_536])
@pytest.mark.parametrize("case", HOSTILE, ids=[case["id"] for case in HOSTILE])
def test_a_hostile_text_ends_within_its_calls(
    case: dict[str, Any], size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted, not timed: benchmarks/hostile.py prints the milliseconds."""
    calls = 0
    progress = Meter.progress

    def counted(meter: Meter, offset: int, in_error: bool) -> bool:  # noqa: FBT001  as the binding calls it
        nonlocal calls
        calls += 1
        return progress(meter, offset, in_error)

    monkeypatch.setattr(Meter, "progress", counted)
    head = case.get("head", "")
    found = verdict((head + case["unit"] * ((size - len(head)) // len(case["unit"]))).encode())
    if case.get("valid"):
        assert found.code in (None, Code.EVAL_ANALYSIS_LIMIT)
    else:
        assert found.code in (Code.EVAL_SYNTAX_ERROR, Code.EVAL_ANALYSIS_LIMIT)
    assert calls <= case["calls"]


@pytest.mark.parametrize(
    ("code", "exceeds"),
    [
        ("p" + ".then(f)" * 500, False),
        ("if (a) b(); " + "else if (a) b(); " * 400, False),
        ("a" + "+1" * 3000, False),
        ("a" + "||b" * 3000, False),
        ("a?b:" * 2500 + "c", False),
        ("(" * 3000 + "1" + ")" * 3000, True),
        ("!" * 3000 + "1", True),
        ("a=>" * 3000 + "1", True),
        ("[" * 2500 + "]" * 2500, True),
    ],
    ids=["then", "else-if", "plus", "or", "ternary", "parentheses", "bang", "arrows", "arrays"],
)
def test_depth_counts_a_one_sided_chain_as_one_level(code: str, *, exceeds: bool) -> None:
    programs = programs_of(code.encode(), Shape.SCRIPT, limit_bytes=WIDE.payload_bytes)
    assert not isinstance(programs, Rejection)
    assert (nesting_exceeds(programs[0].tree.root_node, 2_000) is not None) == exceeds
    assert isinstance(survey(programs[0], WIDE), Rejection) == exceeds


def test_parentheses_beyond_the_depth_limit_are_an_analysis_limit() -> None:
    found = verdict("(" * 3000 + "1" + ")" * 3000)
    assert found.code is Code.EVAL_ANALYSIS_LIMIT
    assert found.limit is not None
    assert found.limit[:2] == ("depth", 2_000)


def test_the_node_limit_is_scaled_with_the_size_limit() -> None:
    code = "a;" * 20_000
    small = replace(RULES, limits=Limits(payload_bytes=65_536, nodes_per_64k=50_000))
    found = verdict(code, rules=small)
    assert found.limit == ("nodes", 50_000, None)
    large = replace(RULES, limits=Limits(payload_bytes=131_072, nodes_per_64k=50_000))
    assert verdict(code, rules=large).code is None


def test_a_stopped_parse_leaves_nothing_behind_for_the_next() -> None:
    for _ in range(3):
        assert isinstance(parse(b"/[" * 8_192, limit_bytes=65_536), BudgetFault | SyntaxFault)
        tree = parse(b"f(1)", limit_bytes=65_536)
        assert not isinstance(tree, BudgetFault | SyntaxFault)
        assert tree.root_node.end_byte == 4


def test_the_slices_that_the_parser_reads_are_released() -> None:
    payload = b"/* %s */ f(1);\n" % (b"x" * 60_000)
    for _ in range(20):
        parse(payload, limit_bytes=65_536)
    before = _resident_bytes()
    for _ in range(300):
        parse(payload, limit_bytes=65_536)
    # Slices that are kept would be 18 MB.
    assert _resident_bytes() - before < 4_000_000


def test_a_parse_leaves_no_slice_behind() -> None:
    for _ in range(50):
        parse(b"f(1)", limit_bytes=65_536)
    gc.collect()
    before = sum(type(each) is memoryview for each in gc.get_objects())
    for _ in range(1_000):
        parse(b"f(1)", limit_bytes=65_536)
    assert sum(type(each) is memoryview for each in gc.get_objects()) - before < 10


def _resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
