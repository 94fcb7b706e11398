"""Run a corpus hardened, without the static verdict: escapes must reach nothing, benign payloads do what they did.

An escape is run as it is first. Where it reaches something, in an engine, a shape and with data, its P' runs in the
same circumstances. A benign payload and its P' run observed, and their records are compared (harden.md §4).
"""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from evalward.corpus.corpus_case import Expectation
from evalward.guard.target import Profile
from evalward.oracle.corpus_proof import depends_on_data
from evalward.oracle.engines_per_thread import EnginesPerThread
from evalward.oracle.hardened_run import Outcome, difference, is_denied, is_invalid, outcome_of, strong
from evalward.oracle.traps import ORDINARY, attacker_data, observed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from evalward.corpus.corpus_case import Case
    from evalward.guard.target import Shape
    from evalward.oracle.emission import Emission, Emit
    from evalward.oracle.hits import EngineRun
    from evalward.oracle.reach import Oracles
    from evalward.oracle.traps import Data

INERT: Final = "inert"
SAME, DIFFERENT, UNSTABLE = "same", "different", "unstable"
_WORST_FIRST: Final = (*Outcome, INERT)


@dataclass(frozen=True, slots=True)
class Tried:
    """The result of one case; ``status`` is an Outcome or inert, for a benign one same, denied, different, unstable.

    ``where`` names engine and shape of the run that decided, ``detail`` its note; ``malformed`` is a P' that an
    engine cannot parse.
    """

    case: Case
    status: str
    where: str = ""
    detail: str = ""
    malformed: bool = False

    @property
    def benign(self) -> bool:
        """Whether profile balanced allows the case."""
        return self.case.expected(Profile.BALANCED) is Expectation.ALLOW


@dataclass(frozen=True, slots=True)
class HardenReport:
    """The results of all cases."""

    tried: tuple[Tried, ...]

    @property
    def reached(self) -> tuple[Tried, ...]:
        """The cases whose P' reached a capability, benign ones included."""
        return tuple(each for each in self.tried if each.status == Outcome.REACHED)

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON-ready data."""
        escapes = [each for each in self.tried if not each.benign]
        benign = [each for each in self.tried if each.benign]
        ended, same = Counter(e.status for e in escapes), Counter(e.status for e in benign)
        return {
            "escapes": {
                "total": len(escapes),
                "refused": ended[Outcome.REFUSED],
                "denied": ended[Outcome.DENIED],
                "ended": ended[Outcome.ENDED],
                "reached": [
                    {"id": e.case.id, "code": e.case.code, "where": e.where, "detail": e.detail}
                    for e in escapes
                    if e.status == Outcome.REACHED
                ],
                "inert": ended[INERT],
            },
            "benign": {
                "total": len(benign),
                "same": same[SAME],
                "denied": _listed(benign, Outcome.DENIED, Outcome.REFUSED),
                "different": _listed(benign, DIFFERENT, Outcome.REACHED),
                "unstable": _listed(benign, UNSTABLE),
            },
            "malformed": [each.case.id for each in self.tried if each.malformed],
        }


def harden_cases(
    cases: Iterable[Case],
    emit: Emit,
    *,
    workers: int = 2,
    deadline: float = 1.0,
    tried: Callable[[Tried], None] = lambda _: None,
) -> HardenReport:
    """Run every case that profile balanced decides, ``workers`` at a time; ``deadline`` is seconds per run.

    ``tried`` is called once per case, on the thread that ran it.
    """
    engines = EnginesPerThread(deadline)

    def one(case: Case) -> Tried:
        trial = _Trial(case, engines.mine(), emit)
        done = trial.escape() if case.expected(Profile.BALANCED) is Expectation.BLOCK else trial.benign()
        tried(done)
        return done

    decided = [case for case in cases if case.expected(Profile.BALANCED) is not None]
    try:
        with ThreadPoolExecutor(workers, thread_name_prefix="hardened") as pool:
            return HardenReport(tuple(pool.map(one, decided)))
    finally:
        engines.close()


class _Trial:
    """One case and the P' of each shape that it may have."""

    def __init__(self, case: Case, oracles: Oracles, emit: Emit) -> None:
        self._case, self._oracles = case, oracles
        self._emit = partial(emit, case.run_text, case.target, bindings=case.bindings)
        self._emitted: dict[Shape, Emission] = {}
        self._observed = observed(case.run_text, case.target)

    def escape(self) -> Tried:
        """Run P until it reaches something, and P' in each run of that data in which P does."""
        for data in (ORDINARY, *attacker_data()):
            if data.word and not depends_on_data(self._case):
                break
            reaching = [run for run in self._runs(data) if strong(run)]
            if reaching:
                done = [self._hardened(run, data) for run in reaching]
                return min(done, key=lambda each: _WORST_FIRST.index(each.status))
        return Tried(self._case, INERT)

    def benign(self) -> Tried:
        """Compare P and P' in each engine, in the first shape in which the engine takes P."""
        done: list[Tried] = []
        engines: set[str] = set()
        for original in self._runs(self._observed):
            if original.engine in engines or is_invalid(original):
                continue
            engines.add(original.engine)
            # What a stricter profile denies may reach something; a denial is right there.
            if not strong(original):
                done.append(self._compared(original))
        worst = (Outcome.REACHED, DIFFERENT, Outcome.DENIED, Outcome.REFUSED, UNSTABLE, SAME)
        if not done:
            return Tried(self._case, SAME, detail="not comparable here")
        return min(done, key=lambda each: worst.index(each.status))

    def _hardened(self, original: EngineRun, data: Data) -> Tried:
        emission = self._emission(original.shape)
        if emission.text is None:
            return self._tried(Outcome.REFUSED, original, emission.refused)
        run = self._run(emission.text, original, data)
        return self._tried(outcome_of(run), run, _hits(run) or f"{run.ending} {run.note}")

    def _compared(self, original: EngineRun) -> Tried:
        emission = self._emission(original.shape)
        if emission.text is None:
            return self._tried(Outcome.REFUSED, original, f"not hardenable: {emission.refused}")
        run = self._run(emission.text, original, self._observed)
        if strong(run):
            return self._tried(Outcome.REACHED, run, _hits(run))
        differs = difference(original, run)
        if differs is None:
            return self._tried(SAME, run)
        if is_denied(run):
            return self._tried(Outcome.DENIED, run, run.note)
        again = self._run(self._case.run_text, original, self._observed)
        stable = difference(original, again) is None
        return self._tried(DIFFERENT if stable else UNSTABLE, run, differs)

    def _tried(self, status: str, run: EngineRun, detail: str = "") -> Tried:
        return Tried(self._case, status, f"{run.engine} {run.shape}", detail, is_invalid(run))

    def _runs(self, data: Data) -> Iterator[EngineRun]:
        case = self._case
        return self._oracles.runs(
            case.run_text, case.target, case.run_shape, bindings=case.bindings, data=data
        )

    def _run(self, text: str, like: EngineRun, data: Data) -> EngineRun:
        return self._oracles.oracle(like.engine).run(
            text, self._case.target, like.shape, bindings=self._case.bindings, data=data
        )

    def _emission(self, shape: Shape) -> Emission:
        if shape not in self._emitted:
            self._emitted[shape] = self._emit(shape)
        return self._emitted[shape]


def _hits(run: EngineRun) -> str:
    return ", ".join(f"{hit.capability} {hit.op} {hit.path}" for hit in strong(run)[:3])


def _listed(tried: Iterable[Tried], *statuses: str) -> list[dict[str, str]]:
    return [
        {"id": each.case.id, "where": each.where, "detail": each.detail}
        for each in tried
        if each.status in statuses
    ]
