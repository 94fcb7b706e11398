"""The Prometheus counters: calls and their codes, blocks, limits, runs (service.md, "Observability").

Every server has its own registry. No label contains caller text: labels come from the registry of codes, the construct
catalogue, the keyword ids of the policy, and names in this code. ``gauges`` has the values that are read at each
scrape.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, Counter, Histogram

from evalward.errors import REGISTRY, Code
from evalward.server.limit_names import LIMITS, UNREAD
from evalward.server.observe.observer import label_of

if TYPE_CHECKING:
    from evalward.server.decide.decisions import Decision
    from evalward.server.observe.observer import Finished

SECONDS: Final = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.5, 1.0, 2.5, 5.0)
OTHER: Final = "other"
_KEYWORD: Final = "keyword:"


class Metrics:
    """Counts answered calls in ``registry``."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._requests = Counter(
            "evalward_requests",
            "Answered payloads and calls, by RPC, outcome (allow, deny, error) and code; each item of a batch or "
            "stream counts.",
            ["rpc", "outcome", "code"],
            registry=registry,
        )
        self._seconds = Histogram(
            "evalward_request_seconds",
            "Time from the arrival of a call, or of an item of a stream, to its response.",
            ["rpc"],
            buckets=SECONDS,
            registry=registry,
        )
        self._blocked = Counter(
            "evalward_blocked",
            "Denied payloads, by the construct or keyword:<id> of the denial.",
            ["construct"],
            registry=registry,
        )
        self._would_block = Counter(
            "evalward_would_block",
            "Findings that the policy only audits and that enforcement would deny.",
            ["construct"],
            registry=registry,
        )
        self._hardened = Counter(
            "evalward_hardened",
            "Allowed payloads with a hardened program, by RPC.",
            ["rpc"],
            registry=registry,
        )
        self._run_time_denials = Counter(
            "evalward_run_time_denials",
            "Denials while a hardened program ran, in the sandbox or reported by a caller, by construct.",
            ["construct"],
            registry=registry,
        )
        self._limits = Counter(
            "evalward_limit_refusals",
            "Responses that name a limit (details.limit).",
            ["limit"],
            registry=registry,
        )
        for name in (*LIMITS, OTHER):
            self._limits.labels(name)
        self._run_seconds = Histogram(
            "evalward_sandbox_run_seconds",
            "Wall time of runs in the sandbox.",
            buckets=SECONDS,
            registry=registry,
        )
        self._fuel = Counter(
            "evalward_sandbox_fuel", "Instructions used by runs in the sandbox.", registry=registry
        )
        # Looking up the labels costs more than counting, and few combinations are frequent.
        self._counted: dict[tuple[str, Code | None], Counter] = {}
        self._timed: dict[str, Histogram] = {}

    def finished(self, call: Finished) -> None:
        """Count ``call`` and its decisions."""
        rpc = call.rpc
        timed = self._timed.get(rpc)
        if timed is None:
            timed = self._timed[rpc] = self._seconds.labels(rpc)
        timed.observe(call.ended - call.started)
        for decision in call.decisions:
            self._count(rpc, decision.code, call.times)
            if decision.code is not None:
                self._explain(decision)
            if decision.program is not None:
                self._hardened.labels(rpc).inc()
            if decision.denied is not None:
                self._run_time_denials.labels(_label(decision.denied)).inc()
            for name in decision.would_block:
                self._would_block.labels(_label(name)).inc()
            if decision.evaluation is not None:
                self._run_seconds.observe(decision.run_us / 1e6)
                self._fuel.inc(decision.evaluation.fuel)

    def turned_away(self, code: Code) -> None:
        """Count a call that was rejected before its request was read."""
        self._count(UNREAD, code)

    def _count(self, rpc: str, code: Code | None, times: int = 1) -> None:
        counted = self._counted.get((rpc, code))
        if counted is None:
            counted = self._counted[rpc, code] = self._requests.labels(rpc, _outcome(code), code or "OK")
        counted.inc(times)

    def _explain(self, decision: Decision) -> None:
        """Count what a denial names: a limit, a construct or a keyword."""
        details = decision.details
        limit = details.get("limit")
        if limit is not None:
            self._limits.labels(limit if limit in LIMITS else OTHER).inc()
        if decision.code is Code.EVAL_BLOCKED_CONSTRUCT:
            self._blocked.labels(label_of(details.get("construct")) or OTHER).inc()
        elif decision.code is Code.EVAL_DENIED_AT_RUN_TIME:
            self._run_time_denials.labels(label_of(details.get("construct")) or OTHER).inc()
        elif decision.code is Code.EVAL_BLOCKED_KEYWORD:
            self._blocked.labels(f"{_KEYWORD}{details.get('keyword') or OTHER}").inc()


def _outcome(code: Code | None) -> str:
    if code is None:
        return "allow"
    return "error" if REGISTRY[code].is_infrastructure else "deny"


def _label(name: str) -> str:
    """Return ``name`` without text that a payload could have invented."""
    if name.startswith((_KEYWORD, "limit:")):
        return name
    return label_of(name) or OTHER
