"""The operator's settings besides the policy (service.md, "Sockets, identity, limits")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evalward.judging.verdict_cache import DEFAULT_ENTRIES

if TYPE_CHECKING:
    from pathlib import Path

    from evalward.server.addresses import TcpAddress, UnixAddress


LEAST_UNREAD: Final = 64


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """PEM files: the certificate chain, its private key, and the CA for client certificates (None: any client)."""

    certificate: Path
    key: Path
    client_ca: Path | None = None

    def paths(self) -> tuple[Path, ...]:
        """Return the configured files."""
        return tuple(path for path in (self.certificate, self.key, self.client_ca) if path is not None)


@dataclass(frozen=True, slots=True)
class Settings:
    """The operator's settings besides the policy; ``drain_seconds`` bounds the drain after SIGTERM.

    A batch or stream has at most ``batch_items`` items and ``batch_bytes`` bytes, all fields included. At most
    ``max_streams`` streams are open; a stream ends after ``stream_idle`` seconds without an item (0: never).
    ``errors_verbose`` is the number of stack frames that an INTERNAL failure shows.

    ``evaluation_deadline_ms`` bounds the wall time of a run, ``evaluation_queue`` the runs that wait for a core.
    ``warm_sandbox`` builds the engine right after the start instead of with the first run. ``verdict_cache`` is the
    number of cached verdicts (0: none).

    ``tls`` applies to every TCP socket; ``insecure_remote`` allows plain TCP beyond loopback. ``admin`` is the address
    of probes and metrics (None: none). ``unix_mode`` is the mode of Unix sockets. With ``share_port`` other servers of
    the user can listen on the same TCP ports, each with its own audit log; the kernel distributes the connections.

    ``connection_age`` is the maximum age of a connection in seconds (0: none): the client then reconnects, so that
    calls reach new replicas. ``connection_idle`` is the maximum time without a call (0: none). ``max_connections``
    bounds the connections, on ``listeners`` addresses. ``client_names`` are the certificate names with permission to
    call, if not every certificate of the client CA has it.

    ``hooks`` are the addresses for hooks of agents. ``ext_mcp`` and ``ext_proc`` serve the protocols of agentgateway
    and Envoy on the gRPC listener.

    With ``workers`` that many processes judge, one job each (0: this process judges, ``max_concurrent`` at once).
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
    admin: TcpAddress | UnixAddress | None = None
    workers: int = 0
    connection_age: int = 1_800
    connection_idle: int = 300
    max_connections: int = 1_024
    listeners: int = 1
    unix_mode: int = 0o660
    share_port: bool = False
    client_names: tuple[str, ...] = ()
    hooks: tuple[TcpAddress | UnixAddress, ...] = ()
    ext_mcp: bool = False
    ext_proc: bool = False

    @property
    def places(self) -> int:
        """The number of validations that can run or wait."""
        return max(self.max_concurrent, self.workers + 1) + self.queue

    @property
    def unread(self) -> int:
        """The number of calls that can be incomplete: at least as many as can run or wait."""
        return max(LEAST_UNREAD, self.places)
