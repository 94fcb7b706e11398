"""What Prometheus reads off the server at each scrape: load, audit log, cache, policy.

Between scrapes it costs nothing.
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
        """Name nothing in advance: the registry is this server's own."""
        yield from ()

    def collect(self) -> Iterator[Metric]:
        """Yield every family once."""
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
        yield GaugeMetricFamily("evalward_running", "Validations that run now.", load.running)
        yield GaugeMetricFamily("evalward_queued", "Validations that wait for a place.", load.waiting)
        yield GaugeMetricFamily("evalward_streams", "Streams that are open.", sources.streams())
        yield CounterMetricFamily(
            "evalward_connections_closed",
            "Connections closed since there were too many.",
            sources.connections_ended(),
        )
        sizes = GaugeMetricFamily(
            "evalward_limit", "The size of each limit that load can use up.", labels=["limit"]
        )
        for name, size in sources.limits.items():
            sizes.add_metric([name], size)
        yield sizes

    def _audit(self) -> Iterator[Metric]:
        state = self._sources.audit()
        yield GaugeMetricFamily(
            "evalward_audit_healthy", "1 while the audit log takes records, else 0.", state.failure is None
        )
        yield CounterMetricFamily(
            "evalward_audit_records", "Records that requests and life cycle left in the log.", state.recorded
        )
        yield CounterMetricFamily(
            "evalward_audit_unrecorded", "Records that the log did not take.", state.unrecorded
        )
        yield CounterMetricFamily("evalward_audit_gaps", "Times that the log failed.", state.gaps)
        yield GaugeMetricFamily(
            "evalward_audit_keeps_chain",
            "1 when a restart goes on with the chain, 0 when it begins one, as on standard output.",
            self._sources.keeps_chain,
        )
        if state.head is None:
            return
        yield GaugeMetricFamily(
            "evalward_audit_head_seq", "The number of the last record of the chain.", state.head.seq
        )
        head = {"chain": state.head.chain, "seq": str(state.head.seq), "mac": state.head.mac}
        yield InfoMetricFamily(
            "evalward_audit_head", "The last record of the chain, as `evalward audit head` prints it.", head
        )

    def _policy(self) -> Iterator[Metric]:
        provenance, report = self._sources.provenance, self._sources.readiness.report()
        yield InfoMetricFamily(
            "evalward_policy",
            "The policy in force, and what judges under it.",
            {
                "digest": report.policy_digest,
                "ruleset": provenance.ruleset_digest,
                "grammar": provenance.grammar_version,
                "version": provenance.service_version,
            },
        )
        reloads = self._sources.reloads
        yield CounterMetricFamily(
            "evalward_policy_loads", "Changed policy files that were taken.", reloads.loads if reloads else 0
        )
        yield CounterMetricFamily(
            "evalward_policy_rejects",
            "Changed policy files that were refused, so that the last good one stayed.",
            reloads.rejects if reloads else 0,
        )
        audited = GaugeMetricFamily(
            "evalward_enforcement_audit",
            "1 for what policy only audits, else 0: the targets that are opted in, and the tools in audit mode.",
            labels=["scope"],
        )
        for name, enforcement in report.enforcement.items():
            audited.add_metric([name], enforcement == Enforcement.AUDIT)
        yield audited
        yield GaugeMetricFamily("evalward_ready", "1 while /readyz answers 200, else 0.", report.is_ready)


def _workers(info: WorkersInfo) -> Iterator[Metric]:
    yield GaugeMetricFamily("evalward_workers", "Guard workers that are ready.", len(info.pids))
    yield CounterMetricFamily("evalward_worker_ends", "Guard workers that ended unasked.", info.ended)
    yield CounterMetricFamily("evalward_worker_kills", "Those of them that the server killed.", info.killed)


def _certificate_ends(ends_by_name: Mapping[str, float]) -> Metric:
    ends = GaugeMetricFamily(
        "evalward_tls_not_after_timestamp_seconds",
        "When handshakes begin to fail: the end of the server's certificate, or of the last client CA.",
        labels=["certificate"],
    )
    for name, end in ends_by_name.items():
        ends.add_metric([name], end)
    return ends


def _cache(info: CacheInfo) -> Iterator[Metric]:
    yield CounterMetricFamily("evalward_verdict_cache_hits", "Verdicts that were known.", info.hits)
    yield CounterMetricFamily("evalward_verdict_cache_misses", "Verdicts that were not.", info.misses)
    yield GaugeMetricFamily("evalward_verdict_cache_entries", "Verdicts that are kept.", info.entries)
    yield GaugeMetricFamily("evalward_verdict_cache_bytes", "Their estimated size.", info.weight)
