"""The fixpoint is one: nothing is left unrun that a change would have had to wake (guard.md §2).

The resolver runs an instruction again only when something that it read has changed. A read that is not noted hides
what the instruction would do now. So each program is resolved, every outcome forgotten, every instruction run once
more: a use that turns up then is one that the fixpoint missed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from guard_cases import RULES

from evalward.corpus.corpus_case import Case, load_cases
from evalward.fuzz.plan import Plans
from evalward.fuzz.program_text import compose
from evalward.fuzz.prove import TARGET
from evalward.guard import judge
from evalward.guard.interpret.interpreter import Interpreter

if TYPE_CHECKING:
    from evalward.guard.domain.span import Span

CORPUS = Path(__file__).parents[3] / "corpus"
LATE = load_cases([CORPUS / f"escapes/{name}.yaml" for name in ("havoc", "late-carriers", "late-changes")])
# The whole corpus takes half a minute.
SAMPLE = load_cases([CORPUS])[::16]
CHAIN = "class C0{{constructor(k){{this.f=(()=>{{}})[k]}}}};{classes}new C{last}('construc'+'tor').f('1')()"


GENERATED = 600


@dataclass
class Rerun:
    """The programs that were run twice, and the uses that only the second run found."""

    programs: int = 0
    missed: set[tuple[str, Span]] = field(default_factory=set)
    missed_constructs: set[str] = field(default_factory=set)


@pytest.fixture
def rerun(monkeypatch: pytest.MonkeyPatch) -> Rerun:
    """Let every run of the interpreter be followed by one that forgets the outcomes and runs everything once more."""
    seen = Rerun()
    run = Interpreter.run

    def run_twice(interpreter: Interpreter) -> None:
        seen.programs += 1
        run(interpreter)
        found = _uses(interpreter)
        interpreter.machine.dataflow.budget *= 10
        for unit in interpreter.machine.dataflow.units:
            unit.outcomes.clear()
            if unit.executed:
                interpreter.machine.dataflow.enqueue(unit)
        interpreter.machine.execution.drain()
        fresh = _uses(interpreter) - found
        seen.missed |= fresh
        seen.missed_constructs |= {construct for construct, _ in fresh} - {
            construct for construct, _ in found
        }

    monkeypatch.setattr(Interpreter, "run", run_twice)
    return seen


def _uses(interpreter: Interpreter) -> set[tuple[str, Span]]:
    return {(use.construct, use.span) for use in interpreter.machine.findings.uses.values()}


@pytest.mark.exhaustive
@pytest.mark.parametrize("cases", [LATE, SAMPLE], ids=["late", "sample"])
def test_running_everything_again_finds_nothing_new(cases: list[Case], rerun: Rerun) -> None:
    for case in cases:
        judge(case.code.encode(), target=case.target, shape=case.shape, rules=RULES)
        assert not rerun.missed, case.id
    assert rerun.programs > len(cases) / 2


# A function that escapes late is judged where it is written, and once more where it returns: the place may be new.
@pytest.mark.exhaustive
def test_running_generated_programs_again_finds_no_other_construct(rerun: Rerun) -> None:
    plans = Plans(20261128)
    for index in range(0, plans.covering, plans.covering // GENERATED):
        program = compose(plans[index])
        judge(program.text.encode(), target=TARGET, shape=program.shape, rules=RULES)
        assert not rerun.missed_constructs, program.text
    assert rerun.programs > GENERATED / 2


@pytest.mark.parametrize("length", [2, 40, 400])
def test_a_chain_of_classes_is_followed_or_denied(length: int) -> None:
    classes = "".join(f"class C{each} extends C{each - 1}{{}};" for each in range(1, length))
    code = CHAIN.format(classes=classes, last=length - 1)
    assert not judge(code.encode(), target=LATE[0].target, shape=None, rules=RULES).allowed
