"""The state of one run, which every part of the interpreter shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evalward.guard.interpret.dataflow import Dataflow
    from evalward.guard.interpret.exposure import Exposure
    from evalward.guard.interpret.findings import Findings
    from evalward.guard.interpret.object_store import ObjectStore
    from evalward.guard.interpret.surroundings import Surroundings


@dataclass(frozen=True, slots=True)
class RunState:
    """Registers and worklist, objects, what other code may have of them, uses found, and the inputs of the run."""

    dataflow: Dataflow
    store: ObjectStore
    exposure: Exposure
    findings: Findings
    surroundings: Surroundings
