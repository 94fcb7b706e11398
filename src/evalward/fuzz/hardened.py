"""Run generated escapes hardened, the static verdict ignored: none may reach anything (harden.md §4)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from evalward.fuzz.plan import Plans
from evalward.fuzz.program_text import compose
from evalward.fuzz.prove import TARGET
from evalward.fuzz.verdict_batches import Answer, answers
from evalward.guard.target import Shape
from evalward.oracle.hardened_run import Outcome, outcome_of, strong
from evalward.oracle.hits import Engine
from evalward.oracle.reach import UNDECLARED, Oracles

if TYPE_CHECKING:
    from collections.abc import Callable

    from evalward.fuzz.campaign import Job, Proof, Watch
    from evalward.fuzz.program_text import Program
    from evalward.oracle.emission import Emission, Emit

_DEADLINE_S: Final = 2.0
_QUICKJS_SHARE: Final = 4
"""One program in this many also runs in QuickJS, which takes longer than Node and seldom knows more."""


@dataclass(slots=True)
class HardenedFuzzReport:
    """The counts of one run. ``reached`` holds each program that reached something, and what that was."""

    profile: str
    seed: int
    total: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    refused_for: Counter[str] = field(default_factory=Counter)
    reached: list[dict[str, Any]] = field(default_factory=list)
    sampled: int = 0
    sample_live: int = 0

    def as_object(self, elapsed_s: float) -> dict[str, Any]:
        """Return the JSON object that ``evalward fuzz --hardened --json`` prints."""
        return {
            "hardened": True,
            "profile": self.profile,
            "seed": self.seed,
            "total": self.total,
            **{each.value: self.outcomes[each] for each in Outcome if each is not Outcome.REACHED},
            "reached": self.reached,
            "refused_for": dict(self.refused_for.most_common()),
            "sample": {"size": self.sampled, "live": self.sample_live},
            "elapsed_s": round(elapsed_s, 3),
        }


class HardenedRun:
    """Emits and runs one program; in a form that can be sent to a worker process."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit

    def __call__(self, program: Program) -> Answer:
        """Return the outcome as ``code``, and what was reached or why it was refused as ``about``."""
        emission, shape = self._emission(program)
        if emission.text is None:
            return Answer(Outcome.REFUSED, emission.refused)
        worst = Answer(Outcome.REFUSED)
        for engine in _engines_for(program):
            run = _oracles().oracle(engine).run(emission.text, TARGET, shape)
            hits = ", ".join(f"{hit.capability} {hit.op} {hit.path}" for hit in strong(run)[:3])
            answer = Answer(outcome_of(run), f"{engine} {shape}: {hits}" if hits else run.ending)
            worst = min(worst, answer, key=lambda each: _severity(each.code))
        return worst

    def _emission(self, program: Program) -> tuple[Emission, Shape]:
        """Emit in the program's shape, or in the first of a rotation in which it can be."""
        turn = len(program.text) % len(UNDECLARED)
        emission, shape = None, Shape.SCRIPT
        for shape in (program.shape,) if program.shape else (*UNDECLARED[turn:], *UNDECLARED[:turn]):
            emission = self._emit(program.text, TARGET, shape)
            if emission.text is not None:
                break
        assert emission is not None  # noqa: S101 - there is at least one shape
        return emission, shape


def run_hardened(
    job: Job,
    emit: Emit,
    prover: Proof,
    watch: Watch = lambda doing, done, total: None,  # noqa: ARG005 - the default ignores progress
) -> HardenedFuzzReport:
    """Generate, emit and run ``job.count`` programs; run a sample as they are, to show that they are live."""
    plans = Plans(job.seed)
    report = HardenedFuzzReport(job.profile, job.seed)
    run: Callable[[Program], Answer] = HardenedRun(emit)
    for batch, said in answers(plans.first(job.count), run, workers=job.workers):
        report.total += len(batch)
        for plan, answer in zip(batch, said, strict=True):
            report.outcomes[str(answer.code)] += 1
            if answer.code == Outcome.REACHED:
                program = compose(plan)
                report.reached.append(
                    {
                        "axes": plan.names(),
                        "code": program.text,
                        "shape": program.shape,
                        "reached": answer.about,
                    }
                )
            elif answer.code == Outcome.REFUSED:
                report.refused_for[answer.about or ""] += 1
        watch("running hardened", report.total, job.count)
    step = max(1, job.count // job.sample) if job.sample else job.count + 1
    chosen = [plans[index] for index in range(0, job.count, step)][: job.sample]
    report.sampled, report.sample_live = len(chosen), sum(prover.each(chosen))
    return report


def _engines_for(program: Program) -> tuple[Engine, ...]:
    available = tuple(e for e in (Engine.NODE, Engine.QUICKJS) if e not in _oracles().absent)
    in_both = len(program.text) % _QUICKJS_SHARE == 0
    # A module cannot run in QuickJS, where it would be a script.
    return available if in_both and program.shape is not Shape.MODULE else available[:1]


def _severity(code: str | None) -> int:
    return [*Outcome].index(Outcome(code)) if code else len(Outcome)


@cache
def _oracles() -> Oracles:
    """Return the engines of this worker process; they end with it."""
    return Oracles(deadline=_DEADLINE_S)
