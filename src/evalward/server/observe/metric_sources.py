"""Where the metrics of one server come from; a server without metrics imports nothing else of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from evalward.server.limit_names import STREAM_IDLE, UNREAD

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evalward.audit import AuditState
    from evalward.errors import Provenance
    from evalward.judging.executor import Load
    from evalward.judging.verdict_cache import CacheInfo
    from evalward.judging.workers.worker_pool import WorkersInfo
    from evalward.server.observe.liveness import Liveness
    from evalward.server.observe.readiness import Readiness
    from evalward.server.settings import Settings


class ReloadCounts(Protocol):
    """The number of policy files that were loaded and rejected while serving."""

    loads: int
    rejects: int


class MetricSources(NamedTuple):
    """The sources, each called once per scrape, on the thread that serves it.

    ``limits`` are the sizes of the limits that load can exhaust, by the name in ``details.limit``.
    """

    load: Callable[[], Load]
    streams: Callable[[], int]
    audit: Callable[[], AuditState]
    cache: Callable[[], CacheInfo] | None
    provenance: Provenance
    liveness: Liveness
    readiness: Readiness
    workers: Callable[[], WorkersInfo] | None
    limits: Mapping[str, int]
    connections_ended: Callable[[], int]
    reloads: ReloadCounts | None
    certificate_ends: Callable[[], Mapping[str, float]] | None
    keeps_chain: bool
    """Whether a restart continues the audit chain, as in a file, or starts a new one, as on standard output."""


def limits_of(settings: Settings, *, connections: int, message_bytes: int) -> Mapping[str, int]:
    """Return the sizes of the limits that load can exhaust."""
    places = (
        {"workers": settings.workers} if settings.workers else {"max_concurrent": settings.max_concurrent}
    )
    return {
        **places,
        "queue": settings.queue,
        "streams": settings.max_streams,
        STREAM_IDLE: settings.stream_idle,
        UNREAD: settings.unread,
        "evaluation_queue": settings.evaluation_queue,
        "connections": connections,
        "message_bytes": message_bytes,
        "connection_idle": settings.connection_idle,
        "connection_age": settings.connection_age,
    }
