"""A fuzzing campaign: generate, judge, confirm misses in the oracle, sample, shrink (guard.md §5)."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from evalward.fuzz.campaign_report import FuzzReport, MissClass
from evalward.fuzz.plan import Plans
from evalward.fuzz.program_text import compose
from evalward.fuzz.shrink import explains, shrink
from evalward.fuzz.verdict_batches import answers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evalward.fuzz.plan import Plan
    from evalward.fuzz.program_text import Program
    from evalward.fuzz.verdict_batches import Answer

SHRUNK_CLASSES = 150
"""The limit of classes of misses that are shrunk."""


class Proof(Protocol):
    """Decides whether a program reaches its capability: the oracle."""

    def live(self, plan: Plan) -> bool:
        """Whether ``plan`` reaches something."""

    def each(self, plans: Sequence[Plan], proven: Callable[[object], None] = ...) -> list[bool]:
        """Return ``live`` of every plan."""


class Watch(Protocol):
    """A progress callback: called with the step's name, the number of finished steps, and their total."""

    def __call__(self, doing: str, done: int, total: int) -> None:
        """Note the progress."""


@dataclass(frozen=True, slots=True)
class Job:
    """A job: ``count`` programs and ``benign`` twins from ``seed``; the oracle runs ``sample`` of each."""

    count: int
    seed: int
    profile: str
    benign: int = 0
    sample: int = 500
    workers: int = 1


def run_fuzz(
    job: Job,
    judged_by: Callable[[Program], Answer],
    prover: Proof,
    watch: Watch = lambda doing, done, total: None,  # noqa: ARG005 - the default ignores progress
) -> FuzzReport:
    """Generate, judge, prove and shrink; the same job and judge give the same report."""
    plans = Plans(job.seed)
    report = FuzzReport(
        profile=job.profile,
        seed=job.seed,
        covering=plans.covering,
        pairs_total=plans.pairs.total,
        pairs_covered=plans.pairs_in_first(job.count),
        pairs_impossible=plans.pairs.impossible,
    )
    allowed: list[Plan] = []
    for batch, said in answers(plans.first(job.count), judged_by, workers=job.workers):
        allowed += [p for p, answer in zip(batch, said, strict=True) if report.count(p, answer)]
        watch("judging", report.total, job.count)
    missed = _confirmed(report, allowed, prover, watch)
    _sample(report, plans, job, prover)
    report.classes = _classes(report, missed, lambda p: judged_by(compose(p)).code is None and prover.live(p))
    if job.benign:
        _benign(report, job, judged_by, prover, watch)
    return report


def _confirmed(report: FuzzReport, allowed: Sequence[Plan], prover: Proof, watch: Watch) -> list[Plan]:
    done = 0

    def proven(_: object) -> None:
        nonlocal done
        done += 1
        watch("confirming what was allowed", done, len(allowed))

    missed = []
    for plan, live in zip(allowed, prover.each(allowed, proven), strict=True):
        report.note(plan, "missed" if live else "inert")
        if live:
            missed.append(plan)
    report.missed, report.inert = len(missed), len(allowed) - len(missed)
    return missed


def _sample(report: FuzzReport, plans: Plans, job: Job, prover: Proof) -> None:
    rng = random.Random(f"{job.seed}:sample")  # noqa: S311 - not a secret
    chosen = [plans[i] for i in rng.sample(range(job.count), min(job.sample, job.count))]
    for plan, live in zip(chosen, prover.each(chosen), strict=True):
        report.note(plan, "sampled")
        report.sampled += 1
        if live:
            report.note(plan, "live")
            report.sample_live += 1


def _classes(report: FuzzReport, missed: Sequence[Plan], still: Callable[[Plan], bool]) -> list[MissClass]:
    """Shrink each miss that no earlier class explains."""
    classes: list[MissClass] = []
    for plan in missed:
        known = next((each for each in classes if explains(each.shrunk, plan)), None)
        if known is not None:
            known.count += 1
        elif len(classes) < SHRUNK_CLASSES:
            classes.append(MissClass(shrink(plan, still)))
        else:
            report.unexplained += 1
    return sorted(classes, key=lambda each: -each.count)


def _benign(
    report: FuzzReport, job: Job, judged_by: Callable[[Program], Answer], prover: Proof, watch: Watch
) -> None:
    plans = Plans(job.seed, benign=True)
    blocked = []
    for batch, said in answers(plans.first(job.benign), judged_by, workers=job.workers):
        report.benign_total += len(batch)
        blocked += [plan for plan, answer in zip(batch, said, strict=True) if answer.code is not None]
        watch("judging benign twins", report.benign_total, job.benign)
    report.benign_blocked = len(blocked)
    report.benign_classes = _classes(report, blocked, lambda p: judged_by(compose(p)).code is not None)
    rng = random.Random(f"{job.seed}:benign")  # noqa: S311 - not a secret
    chosen = [plans[i] for i in rng.sample(range(job.benign), min(job.sample, job.benign))]
    report.benign_sampled = len(chosen)
    report.benign_reaching = sum(prover.each(chosen))
