"""Run ordinary programs as they are and hardened, and compare the records of the runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evalward.guard.target import Target
from evalward.oracle.hardened_run import difference, is_invalid
from evalward.oracle.traps import OBSERVED

if TYPE_CHECKING:
    from evalward.fuzz.ordinary.compose import Ordinary
    from evalward.oracle.emission import Emit
    from evalward.oracle.hits import Engine
    from evalward.oracle.reach import Oracles

TARGETS: Final = (Target.SANDBOX, Target.MAIN, Target.RENDERER)


@dataclass(frozen=True, slots=True)
class Compared:
    """What came of one program: ``differs`` is None where both did the same, ``valid`` that the engine takes it."""

    valid: bool
    differs: str | None = None
    hardened: str = ""


def compared(program: Ordinary, oracles: Oracles, emit: Emit, *, target: Target, engine: Engine) -> Compared:
    """Run ``program`` both ways in one engine; what cannot be emitted differs."""
    oracle = oracles.oracle(engine)
    original = oracle.run(program.text, target, program.shape, data=OBSERVED)
    if is_invalid(original) or original.ending in {"deadline", "limit", "crashed"}:
        return Compared(valid=False)
    emission = emit(program.text, target, program.shape)
    if emission.text is None:
        return Compared(valid=True, differs=f"refused: {emission.refused}")
    hardened = oracle.run(emission.text, target, program.shape, data=OBSERVED)
    return Compared(valid=True, differs=difference(original, hardened), hardened=emission.text)
