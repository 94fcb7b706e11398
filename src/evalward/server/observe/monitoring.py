"""The watching parts of one server, put together: metrics, readiness, and the admin listener that shows them.

Imported only by a server that has an admin listener: Prometheus' client costs a start 30 ms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, ProcessCollector

from evalward.server.observe.admin_listener import AdminListener
from evalward.server.observe.gauges import Gauges
from evalward.server.observe.metrics import Metrics

if TYPE_CHECKING:
    from evalward.server.addresses import TcpAddress
    from evalward.server.observe.metric_sources import MetricSources


class Monitoring:
    """Metrics from the first call on; ``listen`` binds, and ``close`` ends what it began."""

    def __init__(self) -> None:
        # Of its own: two servers of one process must not count into each other's figures.
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self.metrics = Metrics(self._registry)

    def listen(self, address: TcpAddress, sources: MetricSources) -> AdminListener:
        """Return the listener on ``address``, bound and not yet started; raise ListenError."""
        self._registry.register(Gauges(sources))
        return AdminListener(address, sources.liveness, sources.readiness, self._registry)
