"""What an operator chooses beside the policy (service.md, "Sockets, identity, limits")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evalward.judging.verdict_cache import DEFAULT_ENTRIES

if TYPE_CHECKING:
    from pathlib import Path

    from evalward.server.addresses import TcpAddress


LEAST_UNREAD: Final = 64


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """PEM files: the chain, its private key, and the CA whose clients are let in (None: any client)."""

    certificate: Path
    key: Path
    client_ca: Path | None = None

    def paths(self) -> tuple[Path, ...]:
        """Return the files that there are."""
        return tuple(path for path in (self.certificate, self.key, self.client_ca) if path is not None)


@dataclass(frozen=True, slots=True)
class Settings:
    """What an operator chooses beside the policy; ``drain_seconds`` caps how long SIGTERM waits.

    A batch or stream may have ``batch_items`` and ``batch_bytes``, the other fields of its items included;
    ``max_streams`` may be open at once, each for ``stream_idle`` seconds without an item (0: without an end).
    ``errors_verbose`` is how many stack frames an INTERNAL failure shows.
    ``evaluation_deadline_ms`` is the most wall time that a run may have,
    ``evaluation_queue`` how many may wait for a core, ``warm_sandbox`` whether the engine is built at the start
    (beside serving, not before it) or with the first run. ``verdict_cache`` is how many verdicts are
    remembered (0: none). ``tls`` holds for every TCP socket; ``insecure_remote`` lets one beyond loopback do without.
    ``admin`` is where probes and metrics are served (None: nowhere).
    ``connection_age`` is how long a connection may serve, in seconds (0: without an end): its calls end, and the client
    connects anew, so that calls reach replicas that have come since.
    ``connection_idle`` is how long it may be open without a call (0: without an end), and there may be
    ``max_connections`` at a time, on ``listeners`` addresses.
    ``client_names`` are those of the certificates that may ask, where not every one of the client CA may.
    ``unix_mode`` is the mode of Unix sockets; with ``share_port`` other servers of the user may listen on the same TCP
    ports, each with a log of its own, and the kernel deals connections out.
    With ``workers`` as many processes judge, one job each (0: this process judges, ``max_concurrent`` at once).
    """

    max_concurrent: int = 2
    queue: int = 64
    drain_seconds: float = 10.0
    reflection: bool = False
    batch_items: int = 256
    batch_bytes: int = 1024 * 1024
    max_streams: int = 8
    stream_idle: int = 30
    errors_verbose: int = 0
    evaluation_deadline_ms: int = 1_000
    evaluation_queue: int = 16
    warm_sandbox: bool = True
    tls: TlsFiles | None = None
    insecure_remote: bool = False
    verdict_cache: int = DEFAULT_ENTRIES
    admin: TcpAddress | None = None
    workers: int = 0
    connection_age: int = 1_800
    connection_idle: int = 300
    max_connections: int = 1_024
    listeners: int = 1
    unix_mode: int = 0o660
    share_port: bool = False
    client_names: tuple[str, ...] = ()

    @property
    def places(self) -> int:
        """How many validations may run or wait."""
        return max(self.max_concurrent, self.workers + 1) + self.queue

    @property
    def unread(self) -> int:
        """How many calls may be waited for until their request is there: as many as there is work for, at least."""
        return max(LEAST_UNREAD, self.places)
