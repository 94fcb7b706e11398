"""The result of an oracle: the hits of each run, and the capabilities that they prove."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evalward.guard.target import Shape, Target

WEAK_OP = "get"
"""A denied member is read without being used, as in ``typeof process.exit``: proof only together with a claim."""


class Engine(StrEnum):
    """The engines that can run a payload."""

    QUICKJS = "quickjs"
    NODE = "node"
    CHROMIUM = "chromium"


@dataclass(frozen=True, slots=True, order=True)
class Hit:
    """One capability reached: ``op`` is call, construct, set, read, leak, or the weak get."""

    capability: str
    op: str
    path: str

    @classmethod
    def from_line(cls, line: str) -> Hit:
        """Read the tab-separated line that the traps write."""
        capability, op, path = [*line.split("\t", 2), "", ""][:3]
        return cls(capability, op, path)


@dataclass(frozen=True, slots=True)
class EngineRun:
    """One run of the payload in one engine and shape.

    ``ending`` is completed, threw, unsettled, syntax-error, deadline, limit or crashed; ``note`` says more.
    ``record`` is JSON with the completion value and the side effects of an observed run, else empty.
    """

    engine: Engine
    shape: Shape
    ending: str
    hits: tuple[Hit, ...] = ()
    note: str = ""
    record: str = ""


def read_ending(text: str) -> tuple[str, str, str]:
    """Return ending, note and record of what the traps' ``finish`` returns: ``ending TAB note [LF record]``."""
    ending, _, rest = text.partition("\t")
    note, _, record = rest.partition("\n")
    return ending, note, record


@dataclass(frozen=True, slots=True)
class OracleReport:
    """Every run of one payload. ``absent`` maps an engine that is not available to the reason."""

    target: Target
    runs: tuple[EngineRun, ...]
    absent: dict[Engine, str]

    @property
    def reached(self) -> frozenset[str]:
        """The capabilities that some engine proves reached."""
        return _capabilities(hit for run in self.runs for hit in run.hits if hit.op != WEAK_OP)

    @property
    def touched(self) -> frozenset[str]:
        """The capabilities of which a member was at least looked at; includes ``reached``."""
        return _capabilities(hit for run in self.runs for hit in run.hits)

    def seen_by(self, capability: str) -> tuple[Engine, ...]:
        """Return the engines that saw ``capability`` touched, in the order of their runs."""
        seen = (run.engine for run in self.runs if any(hit.capability == capability for hit in run.hits))
        return tuple(dict.fromkeys(seen))

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON-ready data."""
        return {
            "target": self.target.value,
            "reached": sorted(self.reached),
            "touched": sorted(self.touched - self.reached),
            "seen_by": {
                name: [engine.value for engine in self.seen_by(name)] for name in sorted(self.touched)
            },
            "runs": [
                {
                    "engine": run.engine.value,
                    "shape": run.shape.value,
                    "ending": run.ending,
                    "note": run.note,
                    "hits": [
                        {"capability": hit.capability, "op": hit.op, "path": hit.path} for hit in run.hits
                    ],
                }
                for run in self.runs
            ],
            "absent": {engine.value: reason for engine, reason in self.absent.items()},
        }


def _capabilities(hits: Iterable[Hit]) -> frozenset[str]:
    return frozenset(hit.capability for hit in hits)
