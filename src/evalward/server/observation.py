"""The watching parts of one server, put together: metrics, readiness, and the admin listener that shows them.

Imported only by a server that has an admin listener: Prometheus' client costs a start 30 ms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, ProcessCollector

from evalward.server.admin import AdminListener
from evalward.server.gauges import Gauges
from evalward.server.metrics import Metrics

if TYPE_CHECKING:
    from evalward.server.listen import TcpAddress
    from evalward.server.sources import Sources


class Observation:
    """Metrics from the first call on; ``listen`` binds, and ``close`` ends what it began."""

    def __init__(self) -> None:
        # Of its own: two servers of one process must not count into each other's figures.
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self.metrics = Metrics(self._registry)

    def listen(self, address: TcpAddress, sources: Sources) -> AdminListener:
        """Return the listener on ``address``, bound and not yet started; raise ListenError."""
        self._registry.register(Gauges(sources))
        return AdminListener(address, sources.liveness, sources.readiness, self._registry)
