"""Run programs in the oracle: an escape must reach its capability, a benign twin none."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, Self

from evalward.fuzz.axes import AXES, load_axes
from evalward.fuzz.program_text import TELLTALE_PATH, compose
from evalward.guard.target import Shape, Target
from evalward.oracle import Oracles
from evalward.oracle.hits import WEAK_OP

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evalward.fuzz.axes import Road
    from evalward.fuzz.plan import Plan
    from evalward.fuzz.program_text import Program
    from evalward.oracle.hits import EngineRun

TARGET: Final = Target.MAIN
"""The target of the programs, which has every capability of ``roads.toml``."""

_USES: Final = frozenset({"call", "construct"})
_ROAD: Final = AXES.index("road")


class Prover:
    """The engines, one set per thread; ``deadline`` is seconds per run. A context manager."""

    def __init__(self, *, workers: int = 2, deadline: float = 2.0) -> None:
        self._deadline = deadline
        self._local = threading.local()
        self._opened: list[Oracles] = []
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="prover")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()
        for oracles in self._opened:
            oracles.close()

    def live(self, plan: Plan) -> bool:
        """Whether ``plan`` reaches its capability in an engine; for a benign plan, any capability."""
        program = compose(plan, telltale=True)
        road = load_axes(benign=plan.benign).road[plan.row[_ROAD]]
        runs = self._mine().runs(*_runnable(program))
        if plan.benign:
            return any(hit.op != WEAK_OP for run in runs for hit in run.hits)
        return any(_arrives(run, road) for run in runs)

    def each(self, plans: Sequence[Plan], proven: Callable[[object], None] = lambda _: None) -> list[bool]:
        """Return ``live`` of every plan, several at a time; ``proven`` is called once for each."""

        def one(plan: Plan) -> bool:
            answer = self.live(plan)
            proven(plan)
            return answer

        return list(self._pool.map(one, plans))

    def _mine(self) -> Oracles:
        if not hasattr(self._local, "oracles"):
            oracles = Oracles(deadline=self._deadline)
            with self._lock:
                self._opened.append(oracles)
            self._local.oracles = oracles
        found: Oracles = self._local.oracles
        return found


def _runnable(program: Program) -> tuple[str, Target, Shape | None]:
    """Return the program for an engine.

    A module without imports runs as a strict script, so that an engine need not wait for its evaluation.
    """
    if program.shape is Shape.MODULE:
        return f'"use strict"; {program.text}', TARGET, Shape.SCRIPT
    return program.text, TARGET, program.shape


def _arrives(run: EngineRun, road: Road) -> bool:
    """Whether ``run`` reached the capability; for a builder, the built function must also have run."""
    if road.data:
        return any(hit.capability == road.reaches and hit.op == "read" for hit in run.hits)
    if not any(hit.capability == road.reaches and hit.op in _USES for hit in run.hits):
        return False
    return not road.builder or road.lazy or any(hit.path == TELLTALE_PATH for hit in run.hits)
