"""The QuickJS oracle: the sandbox's own engine with traps for globals."""

from __future__ import annotations

import json
import threading
from functools import cache
from typing import TYPE_CHECKING, Final, Self

from evalward.oracle.hits import Engine, EngineRun, Hit, read_ending
from evalward.oracle.traps import ORDINARY, Data, source, trap_config, traps_script
from evalward.sandbox.engine import Engine as WasmEngine
from evalward.sandbox.shape import CALLED_SHAPES, program

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evalward.guard.target import Shape, Target
    from evalward.sandbox.engine import Run

_MARKER: Final = bytes.fromhex("e7a1f05c3b9d4e62a8c417d96f0b2e85")
_WINDOW: Final = 16 << 10
_FUEL: Final = 2_000_000_000
_OBSERVED_FACTOR: Final = 8
"""P' may take more steps than P; what is compared is what they do."""
_MEMORY: Final = 64 << 20
_OUTPUT: Final = 4096
_OBSERVED: Final = 1 << 20


class QuickJSOracle:
    """The trapped guest; safe for use by many threads."""

    engine = Engine.QUICKJS

    def __init__(self, *, deadline: float = 1.0) -> None:
        self._deadline = deadline

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @staticmethod
    def missing() -> str | None:
        """Return why this engine cannot be used here: it always can."""
        return None

    def run(
        self,
        code: str,
        target: Target,
        shape: Shape,
        *,
        bindings: Mapping[str, str] | None = None,
        data: Data = ORDINARY,
    ) -> EngineRun:
        """Run ``code`` in ``shape`` and return what it reached; a module is run as a script."""
        request = {
            "source": program(code, shape),
            "calls": shape in CALLED_SHAPES,
            "config": trap_config(target, bindings=bindings, data=data),
        }
        run = _engine().run(
            json.dumps(request).encode(),
            fuel=_FUEL * _OBSERVED_FACTOR if data.observe else _FUEL,
            deadline=self._deadline * _OBSERVED_FACTOR if data.observe else self._deadline,
            memory=_MEMORY,
            output=_OBSERVED if data.observe else _OUTPUT,
        )
        ending, note, record = _ending(run)
        return EngineRun(self.engine, shape, ending, _hits(run), note, record)

    def close(self) -> None:
        """Do nothing: no resource is open."""


def _hits(run: Run) -> tuple[Hit, ...]:
    hits: list[Hit] = []
    if not run.window.startswith(_MARKER[:2]) or run.window[2:3] != _MARKER[2:3]:
        used = int.from_bytes(run.window[:2], "little")
        log = run.window[len(_MARKER) :][:used].decode("ascii", "replace")
        hits = [Hit.from_line(line) for line in log.splitlines()]
    if run.imports:
        hits.append(Hit("import", "call", run.specifier))
    return tuple(hits)


def _ending(run: Run) -> tuple[str, str, str]:
    if run.trap is not None:
        name = run.trap.name.lower()
        return ("deadline" if name in {"interrupt", "out_of_fuel"} else "limit"), name, ""
    if run.status <= 0:
        return "limit", "the guest ran out of memory", ""
    return read_ending(run.output.decode(errors="replace"))


_lock = threading.Lock()


def _engine() -> WasmEngine:
    with _lock:
        return _build()


@cache
def _build() -> WasmEngine:
    bootstrap = f"{source('quickjs.js')}({list(_MARKER)}, {_WINDOW}, {traps_script()})"
    return WasmEngine(bootstrap, marker=_MARKER, window=_WINDOW)
