"""Run a payload in every engine of a target, and collect the capabilities that it reaches."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Final, Protocol, Self

from evalward.guard.target import Shape, Target
from evalward.oracle.chromium import ChromiumOracle
from evalward.oracle.hits import Engine, EngineRun, OracleReport
from evalward.oracle.node import NodeOracle
from evalward.oracle.quickjs import QuickJSOracle
from evalward.oracle.traps import ORDINARY, Data

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ENGINES_OF: Final[Mapping[Target, tuple[Engine, ...]]] = {
    Target.MAIN: (Engine.NODE, Engine.QUICKJS),
    Target.NODE: (Engine.NODE, Engine.QUICKJS),
    Target.RENDERER: (Engine.CHROMIUM, Engine.QUICKJS),
    Target.SANDBOX: (Engine.QUICKJS,),
}
"""The engines for each target, the closest first; QuickJS proves pure language escapes for every target."""

UNDECLARED: Final = (Shape.SCRIPT, Shape.EXPRESSION, Shape.ASYNC_BODY, Shape.FUNCTION)
"""A payload that declares no shape may be run in any of these, so it is run in each (guard.md §1)."""


class Oracle(Protocol):
    """One engine, ready to run payloads; used by one thread at a time."""

    engine: Engine

    @staticmethod
    def missing() -> str | None:
        """Return why the engine cannot be used here, or None."""

    def run(
        self,
        code: str,
        target: Target,
        shape: Shape,
        *,
        bindings: Mapping[str, str] | None = None,
        data: Data = ORDINARY,
    ) -> EngineRun:
        """Run one payload once."""

    def close(self) -> None:
        """Release processes and files."""


_ORACLES: Final[tuple[type[NodeOracle | ChromiumOracle | QuickJSOracle], ...]] = (
    NodeOracle,
    ChromiumOracle,
    QuickJSOracle,
)


class Oracles:
    """The available engines, opened on first use; used by one thread at a time."""

    def __init__(self, *, deadline: float = 1.0) -> None:
        self._deadline = deadline
        self._open: dict[Engine, Oracle] = {}
        self._stack = ExitStack()
        self.absent = {kind.engine: reason for kind in _ORACLES if (reason := kind.missing())}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End every engine that was opened."""
        self._stack.close()
        self._open.clear()

    def runs(
        self,
        code: str,
        target: Target,
        shape: Shape | None = None,
        *,
        bindings: Mapping[str, str] | None = None,
        data: Data = ORDINARY,
    ) -> Iterator[EngineRun]:
        """Yield one run for each engine of ``target`` and each shape that the payload may have."""
        for engine in ENGINES_OF[target]:
            if engine not in self.absent:
                for each in (shape,) if shape else UNDECLARED:
                    yield self.oracle(engine).run(code, target, each, bindings=bindings, data=data)

    def absent_for(self, target: Target) -> dict[Engine, str]:
        """Return the engines of ``target`` that are not available, and why."""
        return {engine: self.absent[engine] for engine in ENGINES_OF[target] if engine in self.absent}

    def reached(
        self,
        code: str,
        target: Target,
        shape: Shape | None = None,
        *,
        bindings: Mapping[str, str] | None = None,
    ) -> OracleReport:
        """Run ``code`` in every engine of ``target``, in its shape or in all that it may have."""
        runs = tuple(self.runs(code, target, shape, bindings=bindings))
        return OracleReport(target, runs, self.absent_for(target))

    def oracle(self, engine: Engine) -> Oracle:
        """Return one engine, opened; raise FileNotFoundError when it is not installed."""
        if engine not in self._open:
            kind = next(kind for kind in _ORACLES if kind.engine is engine)
            oracle = kind(deadline=self._deadline)
            self._stack.callback(oracle.close)
            self._open[engine] = oracle
        return self._open[engine]


def reached(
    code: str, target: Target, shape: Shape | None = None, *, bindings: Mapping[str, str] | None = None
) -> OracleReport:
    """Return what ``code`` reaches when ``target`` runs it; opens and closes the engines."""
    with Oracles() as oracles:
        return oracles.reached(code, target, shape, bindings=bindings)
