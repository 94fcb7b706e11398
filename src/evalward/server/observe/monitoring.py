"""Metrics and the admin listener of one server, put together.

Imported only by a server with an admin listener: loading the Prometheus client takes 30 ms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, ProcessCollector

from evalward.server.observe.admin_listener import AdminListener, server_pages
from evalward.server.observe.gauges import Gauges
from evalward.server.observe.metrics import Metrics

if TYPE_CHECKING:
    from evalward.server.addresses import TcpAddress, UnixAddress
    from evalward.server.observe.metric_sources import MetricSources


class Monitoring:
    """Metrics from the first call on; ``listen`` adds the listener."""

    def __init__(self) -> None:
        # Its own registry: two servers in one process must not mix their metrics.
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self.metrics = Metrics(self._registry)

    def listen(self, address: TcpAddress | UnixAddress, sources: MetricSources) -> AdminListener:
        """Return the listener on ``address``, bound but not started; raise ListenError."""
        self._registry.register(Gauges(sources))
        return AdminListener(address, server_pages(sources.liveness, sources.readiness, self._registry))
