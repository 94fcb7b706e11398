"""fuzz --hardened: generated escapes run in the oracle whatever the guard says of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from evalward.fuzz.campaign import Job
from evalward.fuzz.hardened import run_hardened
from evalward.oracle.emission import Emission, Emit
from evalward.oracle.node import NodeOracle

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evalward.fuzz.plan import Plan

JOB = Job(count=12, seed=4, profile="balanced", sample=4, workers=1)


class Live:
    def live(self, plan: Plan) -> bool:
        raise NotImplementedError

    def each(self, plans: Sequence[Plan], proven: Callable[[object], None] = lambda _: None) -> list[bool]:
        return [True for _ in map(proven, plans)] or [True] * len(plans)


@pytest.mark.skipif(NodeOracle.missing() is not None, reason="node is not installed")
@pytest.mark.parametrize(
    ("emit", "expected", "least"),
    [
        # Some carriers need built-ins that only newer engines have, so that a part ends in Node as it is.
        (lambda code, *_: Emission(code), "reached", 6),
        (lambda *_: Emission("1"), "ended", 12),
        (lambda *_: Emission(None, "why"), "refused", 12),
    ],
    ids=["as it is", "harmless", "refused"],
)
def test_counts_what_became_of_each_program(emit: Emit, expected: str, least: int) -> None:
    report = run_hardened(JOB, emit, Live())
    found = report.as_object(1.0)
    counts = {key: found[key] for key in ("denied", "ended", "refused")} | {"reached": len(found["reached"])}
    assert counts[expected] >= least, found
    assert sum(counts.values()) == found["total"] == 12
    assert found["sample"] == {"size": 4, "live": 4}
    assert found["refused_for"] == ({"why": counts["refused"]} if counts["refused"] else {})
