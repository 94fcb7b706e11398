"""The Prometheus values that are read at each scrape: load, audit log, cache, policy.

They cost nothing between scrapes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily
from prometheus_client.registry import Collector

from evalward.guard.rules import Enforcement

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from prometheus_client import Metric

    from evalward.judging.verdict_cache import CacheInfo
    from evalward.judging.workers.worker_pool import WorkersInfo
    from evalward.server.observe.metric_sources import MetricSources


class Gauges(Collector):
    """Collects ``sources``."""

    def __init__(self, sources: MetricSources) -> None:
        self._sources = sources

    def describe(self) -> Iterator[Metric]:
        """Name nothing in advance: the registry belongs to this server only."""
        yield from ()

    def collect(self) -> Iterator[Metric]:
        """Yield every metric family once."""
        yield from self._load()
        yield from self._audit()
        if self._sources.cache is not None:
            yield from _cache(self._sources.cache())
        if self._sources.workers is not None:
            yield from _workers(self._sources.workers())
        if self._sources.certificate_ends is not None:
            yield _certificate_ends(self._sources.certificate_ends())
        yield from self._policy()

    def _load(self) -> Iterator[Metric]:
        load, sources = self._sources.load(), self._sources
        yield GaugeMetricFamily("evalward_running", "Running validations.", load.running)
        yield GaugeMetricFamily("evalward_queued", "Waiting validations.", load.waiting)
        yield GaugeMetricFamily("evalward_streams", "Open streams.", sources.streams())
        yield CounterMetricFamily(
            "evalward_connections_closed",
            "Surplus connections that were closed.",
            sources.connections_ended(),
        )
        sizes = GaugeMetricFamily(
            "evalward_limit", "The size of each limit that load can exhaust.", labels=["limit"]
        )
        for name, size in sources.limits.items():
            sizes.add_metric([name], size)
        yield sizes

    def _audit(self) -> Iterator[Metric]:
        state = self._sources.audit()
        yield GaugeMetricFamily(
            "evalward_audit_healthy", "1 while the audit log accepts records, else 0.", state.failure is None
        )
        yield CounterMetricFamily(
            "evalward_audit_records", "Audit records written for requests and the life cycle.", state.recorded
        )
        yield CounterMetricFamily(
            "evalward_audit_unrecorded", "Audit records that could not be written.", state.unrecorded
        )
        yield CounterMetricFamily("evalward_audit_gaps", "Failures of the audit log.", state.gaps)
        yield GaugeMetricFamily(
            "evalward_audit_keeps_chain",
            "1 when a restart continues the chain, 0 when it starts a new one, as on standard output.",
            self._sources.keeps_chain,
        )
        if state.head is None:
            return
        yield GaugeMetricFamily(
            "evalward_audit_head_seq", "The sequence number of the last record of the chain.", state.head.seq
        )
        head = {"chain": state.head.chain, "seq": str(state.head.seq), "mac": state.head.mac}
        yield InfoMetricFamily(
            "evalward_audit_head", "The last record of the chain, as `evalward audit head` prints it.", head
        )

    def _policy(self) -> Iterator[Metric]:
        provenance, report = self._sources.provenance, self._sources.readiness.report()
        yield InfoMetricFamily(
            "evalward_policy",
            "The policy in force, and the versions of ruleset, grammar and service.",
            {
                "digest": report.policy_digest,
                "ruleset": provenance.ruleset_digest,
                "grammar": provenance.grammar_version,
                "version": provenance.service_version,
            },
        )
        reloads = self._sources.reloads
        yield CounterMetricFamily(
            "evalward_policy_loads", "Changed policy files that were loaded.", reloads.loads if reloads else 0
        )
        yield CounterMetricFamily(
            "evalward_policy_rejects",
            "Changed policy files that were rejected; the previous policy stayed.",
            reloads.rejects if reloads else 0,
        )
        audited = GaugeMetricFamily(
            "evalward_enforcement_audit",
            "1 for what the policy only audits, else 0: the allowed targets, and the tools in audit mode.",
            labels=["scope"],
        )
        for name, enforcement in report.enforcement.items():
            audited.add_metric([name], enforcement == Enforcement.AUDIT)
        yield audited
        yield GaugeMetricFamily("evalward_ready", "1 while /readyz answers 200, else 0.", report.is_ready)


def _workers(info: WorkersInfo) -> Iterator[Metric]:
    yield GaugeMetricFamily("evalward_workers", "Ready guard workers.", len(info.pids))
    yield CounterMetricFamily("evalward_worker_ends", "Guard workers that ended unexpectedly.", info.ended)
    yield CounterMetricFamily("evalward_worker_kills", "Guard workers that the server killed.", info.killed)


def _certificate_ends(ends_by_name: Mapping[str, float]) -> Metric:
    ends = GaugeMetricFamily(
        "evalward_tls_not_after_timestamp_seconds",
        "When handshakes start to fail: the expiry of the server certificate or of the last client CA.",
        labels=["certificate"],
    )
    for name, end in ends_by_name.items():
        ends.add_metric([name], end)
    return ends


def _cache(info: CacheInfo) -> Iterator[Metric]:
    yield CounterMetricFamily("evalward_verdict_cache_hits", "Verdicts found in the cache.", info.hits)
    yield CounterMetricFamily(
        "evalward_verdict_cache_misses", "Verdicts not found in the cache.", info.misses
    )
    yield GaugeMetricFamily("evalward_verdict_cache_entries", "Cached verdicts.", info.entries)
    yield GaugeMetricFamily(
        "evalward_verdict_cache_bytes", "Estimated size of the cached verdicts.", info.weight
    )
