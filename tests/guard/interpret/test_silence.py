"""The empty value: an instruction that is reached gives nothing only for a reason on the list (guard.md §7)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from random_programs import program

from evalward.corpus.corpus_case import load_cases
from evalward.fuzz.plan import Plans
from evalward.fuzz.program_text import compose
from evalward.fuzz.prove import TARGET
from evalward.guard import judge
from evalward.guard.catalogue import load_catalogue
from evalward.guard.domain.atoms import UNDEFINED, Known
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.instructions import Op
from evalward.guard.interpret.havoc import Havoc
from evalward.guard.interpret.interpreter import Interpreter
from evalward.guard.interpret.objects.intrinsics import PROTOTYPES
from evalward.guard.interpret.silence import is_silent
from evalward.guard.rules import Rules
from evalward.guard.target import Profile, Shape, Target

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evalward.guard.domain.atoms import Atom, Value
    from evalward.guard.domain.instructions import Instruction

CORPUS = Path(__file__).parents[3] / "corpus"
CATALOGUE = load_catalogue()
VALUES = {"number", "string", "boolean", "undefined", "text", "data"}  # of members that are no functions

Program = tuple[str, Target, Shape | None]


def from_the_corpus(step: int) -> Iterator[Program]:
    return ((case.code, case.target, case.shape) for case in load_cases([CORPUS])[::step])


def from_the_generator(count: int, *, benign: bool) -> Iterator[Program]:
    for plan in Plans(11, benign=benign).first(count):
        made = compose(plan)
        yield made.text, TARGET, made.shape


def at_random(first: int, last: int) -> Iterator[Program]:
    return ((program(seed), Target.SANDBOX, Shape.ASYNC_BODY) for seed in range(first, last))


def is_listed(atom: Atom, name: str) -> bool:
    """Whether the catalogue says that an object has a function of this name."""
    path = (
        atom.path
        if isinstance(atom, Known)
        else PROTOTYPES.get(atom.kind, "")
        if isinstance(atom, HeapObject)
        else ""
    )
    while path:
        entry = CATALOGUE.get(path)
        if name in entry.members:
            return entry.members[name].result not in VALUES
        path = entry.prototype
    return False


def is_unlisted(instruction: Instruction, values: Sequence[Value]) -> bool:
    """Whether what is called is a function that no list names: the havoc rule gives its result."""
    subject = values[instruction[2] if isinstance(instruction[2], int) else instruction[2][0]]
    if instruction[0] is Op.CALL_METHOD and isinstance(instruction[3], str):
        return not any(is_listed(atom, instruction[3]) for atom in subject)
    return instruction[0] in {Op.CALL, Op.NEW} and UNDEFINED in subject


def silent_in(programs: Iterator[Program], monkeypatch: pytest.MonkeyPatch) -> tuple[Counter[str], list[str]]:
    """Return what gave nothing without a reason, and the texts of the programs in which something gave nothing."""
    found: Counter[str] = Counter()
    told: list[str] = []
    text, seen = "", False

    def revive(havoc: Havoc) -> bool:
        nonlocal seen
        dataflow = havoc._dataflow  # noqa: SLF001 - the state in which nothing is left to run
        for unit in [] if seen else [unit for unit in dataflow.units if unit.executed]:
            for instruction in unit.code:
                if is_silent(instruction, dataflow.values) and not is_unlisted(instruction, dataflow.values):
                    found[f"{instruction[0].name} {instruction[3]} in {text[:200]}"] += 1
        seen = True
        told.append(text)
        return original(havoc)

    original = Havoc.revive
    monkeypatch.setattr(Havoc, "revive", revive)
    for text, target, shape in programs:
        for profile in (Profile.BALANCED, Profile.STRICT):
            seen = False
            judge(
                text.encode("utf-8", "surrogatepass"),
                target=target,
                shape=shape,
                rules=Rules(allowed=True, profile=profile),
            )
    return found, told


def test_what_gives_nothing_has_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    programs = [
        *from_the_corpus(40),
        *from_the_generator(60, benign=False),
        *from_the_generator(60, benign=True),
    ]
    found, told = silent_in(iter([*programs, *at_random(0, 40)]), monkeypatch)
    assert found == {}
    assert len(told) > 100


@pytest.mark.lasts(20)
@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "programs",
    [
        lambda: from_the_corpus(1),
        lambda: from_the_generator(3_000, benign=False),
        lambda: from_the_generator(3_000, benign=True),
        lambda: at_random(0, 600),
    ],
    ids=["corpus", "escapes", "benign", "random"],
)
def test_what_gives_nothing_anywhere_has_a_reason(programs: object, monkeypatch: pytest.MonkeyPatch) -> None:
    assert callable(programs)
    assert silent_in(programs(), monkeypatch)[0] == {}


def test_a_hole_in_a_model_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Interpreter.run

    def without_slice(interpreter: Interpreter) -> None:
        table = interpreter.machine.execution._machine  # noqa: SLF001 - a model is taken out
        original = table.operations[Op.CALL_METHOD]
        table.operations[Op.CALL_METHOD] = lambda i: frozenset() if i[3] == "slice" else original(i)
        run(interpreter)

    monkeypatch.setattr(Interpreter, "run", without_slice)
    hole = ("const x = ['constructor'].slice()[0]; (() => 0)[x]('1')();", Target.SANDBOX, Shape.SCRIPT)
    found, _ = silent_in(iter([hole]), monkeypatch)
    assert [key.split(" in ")[0] for key in found] == ["CALL_METHOD slice"]


@pytest.mark.parametrize(
    "text",
    [
        "({ run() { Iterator.futureOne([process.env]); } }).run();",
        "const { futureOne } = Iterator; ({ run() { futureOne([process.env]); } }).run();",
        "new Map().futureOne(1, process.env);",
    ],
)
def test_a_function_that_no_list_names_gets_what_it_is_handed(text: str) -> None:
    verdict = judge(text.encode(), target=Target.MAIN, shape=Shape.SCRIPT, rules=Rules(allowed=True))
    assert verdict.construct == "process.env"
