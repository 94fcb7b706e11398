"""The checks that a policy switches on: invisible characters, endless loops, catastrophic regular expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from guard_cases import over

from evalward.guard.checks.backtracking import catastrophic_regexes, is_catastrophic
from evalward.guard.checks.loops import unbounded_loops
from evalward.guard.checks.regex_syntax import TooComplexError, automaton
from evalward.guard.checks.switched import switched_findings
from evalward.guard.rules import Action, Rules
from evalward.guard.syntax.shapes import Rejection, programs_of
from evalward.guard.target import Shape

if TYPE_CHECKING:
    from evalward.guard.syntax.program import ParsedProgram

FEW = 6


def program(code: str, shape: Shape = Shape.SCRIPT) -> ParsedProgram:
    found = programs_of(code.encode(), shape, limit_bytes=128 * 1024)
    assert not isinstance(found, Rejection)
    return found[0]


@over("checks/regexes")
def test_patterns(case: dict[str, Any]) -> None:
    assert case["catastrophic"] == is_catastrophic(case["code"], case.get("flags", ""))


@over("checks/loops")
def test_loops(case: dict[str, Any]) -> None:
    code = case["code"]
    assert case["loops"] == [code[start:end] for start, end in unbounded_loops(program(code), limit=FEW)]


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("x = /a/; y = /^(a+)+$/g", ["/^(a+)+$/g"]),
        ("new RegExp('(a+)+$')", ["new RegExp('(a+)+$')"]),
        ("RegExp('(\\\\w|\\\\d)*!', 'g')", ["RegExp('(\\\\w|\\\\d)*!', 'g')"]),
        ("RegExp('(A|a)*!', 'i')", ["RegExp('(A|a)*!', 'i')"]),
        ("RegExp('(A|a)*!')", []),
        ("RegExp(text, 'i')", []),
        ("new RegExp", []),
        ("RegExp`(a+)+$`", []),
        ("f('(a+)+$')", []),
        ("'/(a+)+$/'", []),
        ("/[/](a+)+$/", ["/[/](a+)+$/"]),
    ],
)
def test_regexes_are_found_in_the_tree(code: str, found: list[str]) -> None:
    assert found == [code[start:end] for start, end in catastrophic_regexes(program(code), limit=FEW)]


@pytest.mark.parametrize(
    "pattern",
    [
        f"({'|'.join('abcdefgh'[n % 8] * (n % 5 + 1) for n in range(1_200))})*$",
        f"({'b?' * 2_000})*$",
        "(" * 50_000 + "a",
        "(a|" * 15_000 + "b" + ")*" * 15_000 + "$",
        "[^]" * 50_000,
        "a{9999999}" * 50_000,
    ],
    ids=["alternatives", "optional", "open groups", "nested", "classes", "counts"],
)
def test_a_pattern_past_the_budget_is_not_cleared(pattern: str) -> None:
    with pytest.raises(TooComplexError):
        automaton(pattern, "", budget=200_000)
    assert is_catastrophic(pattern)


def test_the_budget_is_the_payloads_and_what_is_left_is_not_cleared() -> None:
    hard = f"/({'a?' * 300})*$/"
    code = "; ".join([hard] * 3 + ["/harmless/"])
    assert len(catastrophic_regexes(program(code), limit=FEW)) >= 3


def test_offsets_are_the_payloads_in_every_shape() -> None:
    code = "() => { for (;;) /(a+)+$/.test(x) }"
    wrapped = program(code, Shape.FUNCTION)
    assert unbounded_loops(wrapped, limit=FEW) == ((8, 33),)
    assert catastrophic_regexes(wrapped, limit=FEW) == ((17, 25),)


def test_deep_loops_cost_little() -> None:
    code = "while(1){" * 900 + "break" + "}" * 900
    assert len(unbounded_loops(program(code), limit=2_000)) == 899


def test_nothing_runs_unless_it_is_switched_on() -> None:
    code = "for (;;) /(a+)+$/.test('\u202e')"
    payload, programs = code.encode(), [program(code)]
    labels = ["bidi", "unbounded-loop", "catastrophic-regex"]

    def found(**actions: Action) -> list[str]:
        rules = Rules(
            allowed=True, actions={name.replace("_", "-"): action for name, action in actions.items()}
        )
        return [finding.construct for finding in switched_findings(payload, programs, rules)]

    assert found() == []
    assert found(bidi=Action.ALLOW, with_=Action.BLOCK) == []
    assert found(bidi=Action.BLOCK) == ["bidi"]
    assert found(unbounded_loop=Action.AUDIT) == ["unbounded-loop"]
    assert found(bidi=Action.BLOCK, unbounded_loop=Action.BLOCK, catastrophic_regex=Action.BLOCK) == labels


def test_what_two_readings_share_is_found_once() -> None:
    code = "for (;;) {}"
    rules = Rules(allowed=True, actions={"unbounded-loop": Action.BLOCK})
    (finding,) = switched_findings(code.encode(), [program(code), program(code)], rules)
    assert finding.location is not None
    assert (finding.location.start, finding.location.end) == (0, 11)
    assert finding.trace[0].location == finding.location
