"""Check the claims of a corpus: escapes must reach their capability, benign payloads must reach nothing."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from evalward.corpus.corpus_case import Expectation
from evalward.guard.target import Profile, Target
from evalward.oracle.engines_per_thread import EnginesPerThread
from evalward.oracle.hits import WEAK_OP
from evalward.oracle.traps import ORDINARY, Data, attacker_data

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from evalward.corpus.corpus_case import Case
    from evalward.oracle.hits import Engine, EngineRun
    from evalward.oracle.reach import Oracles


@dataclass(frozen=True, slots=True)
class Proof:
    """The result of one case.

    ``status`` is proven, clean, failed, or unproven: no engine here can decide, for ``reason``. ``engine`` is the one
    that proved an escape.
    """

    case: Case
    status: str
    engine: Engine | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class TargetProofs:
    """The proofs of one target's cases."""

    target: Target
    proofs: tuple[Proof, ...]

    def count(self, status: str, engine: Engine | None = None) -> int:
        """Return how many cases have ``status``, of one engine if that is given."""
        return sum(p.status == status and (engine is None or p.engine is engine) for p in self.proofs)

    @property
    def share(self) -> float:
        """The share of cases that are proven or clean, 1.0 when there are none."""
        done = self.count("proven") + self.count("clean")
        return done / len(self.proofs) if self.proofs else 1.0


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """The proofs of a corpus by target."""

    targets: tuple[TargetProofs, ...]

    @property
    def failed(self) -> tuple[Proof, ...]:
        """The cases whose claim is wrong."""
        return tuple(p for t in self.targets for p in t.proofs if p.status == "failed")

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON-ready data."""
        return {
            "targets": {
                t.target.value: {
                    "cases": len(t.proofs),
                    "proven": t.count("proven"),
                    "clean": t.count("clean"),
                    "failed": t.count("failed"),
                    "unproven": t.count("unproven"),
                    "share": round(t.share, 4),
                    "by_engine": _tally(p.engine.value for p in t.proofs if p.engine),
                    "unproven_because": _tally(p.reason for p in t.proofs if p.status == "unproven"),
                }
                for t in self.targets
            },
            "failed": [
                {"id": p.case.id, "target": p.case.target.value, "reason": p.reason} for p in self.failed
            ],
        }


def verify_cases(
    cases: Iterable[Case],
    *,
    workers: int = 2,
    deadline: float = 1.0,
    verified: Callable[[Proof], None] = lambda _: None,
) -> VerifyReport:
    """Run every case, ``workers`` at a time, each with its own engines; ``deadline`` is seconds per run.

    ``verified`` is called once per case, on the thread that ran it.
    """
    benches = EnginesPerThread(deadline)

    def verify(case: Case) -> Proof:
        proof = _verify(case, benches.mine())
        verified(proof)
        return proof

    try:
        with ThreadPoolExecutor(workers, thread_name_prefix="oracle") as pool:
            proofs = list(pool.map(verify, cases))
    finally:
        benches.close()
    by_target = ((target, tuple(p for p in proofs if p.case.target is target)) for target in Target)
    return VerifyReport(tuple(TargetProofs(target, found) for target, found in by_target if found))


def _verify(case: Case, oracles: Oracles) -> Proof:
    match case.expected(Profile.BALANCED):
        case Expectation.BLOCK:
            return _verify_escape(case, oracles)
        case Expectation.ALLOW if not isinstance(case.expect, dict):
            return _verify_benign(case, oracles)
    return Proof(case, "unproven", reason="only a stricter profile blocks it: it need not reach anything")


def _verify_benign(case: Case, oracles: Oracles) -> Proof:
    """Stop at the first hit; only looking at a denied member is not a hit."""
    for run in _runs(case, oracles, ORDINARY):
        for hit in run.hits:
            if hit.op != WEAK_OP:
                return Proof(
                    case, "failed", reason=f"reaches {hit.capability} ({hit.op} {hit.path}) in {run.engine}"
                )
    if absent := oracles.absent_for(case.target):
        return Proof(case, "unproven", reason="; ".join(absent.values()))
    return Proof(case, "clean")


def _verify_escape(case: Case, oracles: Oracles) -> Proof:
    claims = claimed(case)
    if unknown := claims - capabilities().keys():
        return Proof(case, "failed", reason=f"claims {', '.join(unknown)}, which no oracle knows")
    seen: set[str] = set()
    endings: dict[str, None] = {}
    for data in (ORDINARY, *attacker_data()):
        if data.word and not depends_on_data(case):
            break
        for run in _runs(case, oracles, data):
            touched = {hit.capability for hit in run.hits}
            seen |= touched
            endings[f"{run.engine} {run.ending}"] = None
            if touched & claims or (touched and not claims):
                return Proof(case, "proven", run.engine)
    for construct in case.constructs:
        if not case.reaches and construct in _claims()["unprovable"]:
            return Proof(case, "unproven", reason=_claims()["unprovable"][construct])
    if absent := oracles.absent_for(case.target):
        return Proof(case, "unproven", reason="; ".join(absent.values()))
    wanted, found = " or ".join(sorted(claims)) or "anything", ", ".join(sorted(seen)) or "nothing"
    return Proof(
        case,
        "failed",
        reason=f"does not reach {wanted}; reached {found} ({', '.join(endings)})",
    )


def _runs(case: Case, oracles: Oracles, data: Data) -> Iterator[EngineRun]:
    return oracles.runs(case.run_text, case.target, case.run_shape, bindings=case.bindings, data=data)


def depends_on_data(case: Case) -> bool:
    """Return whether runs with an attacker's data, of which there are dozens, can prove more."""
    return "dynamic-key" in case.constructs or "arg" in case.code


def claimed(case: Case) -> frozenset[str]:
    """Return the capabilities of which an escape must reach one; empty when any will do."""
    table = _claims()
    if case.reaches:
        return frozenset(table["aliases"].get(case.reaches, [case.reaches]))
    found: set[str] = set()
    for construct in case.constructs:
        if construct.split(".")[0] == table["process_prefix"]:
            found.add("process")
        elif construct in table["constructs"]:
            found.update(table["constructs"][construct])
        else:
            return frozenset()
    return frozenset(found)


def capabilities() -> dict[str, str]:
    """Return every capability that an oracle may name, with its description."""
    table: dict[str, str] = _claims()["capabilities"]
    return table


def _tally(items: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for item in items:
        counts[item] = counts.get(item, 0) + 1
    return dict(sorted(counts.items(), key=lambda pair: -pair[1]))


@cache
def _claims() -> dict[str, Any]:
    table: dict[str, Any] = json.loads(files(__package__).joinpath("claims.json").read_text(encoding="utf-8"))
    return table
