"""The listening sockets: TCP, and Unix sockets that have their mode before anyone can connect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.server.addresses import ListenError, TcpAddress, UnixAddress
from evalward.server.transport.socket_paths import SocketPaths

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import grpc

UNIX_MODE = 0o660


class Listener:
    """The sockets of one server: call ``bind`` for each address before it starts and ``close`` after it stopped.

    With ``credentials``, called once per socket, all TCP sockets use TLS. Without, an address beyond loopback is
    rejected, since payloads and verdicts would cross the network in plain text; ``insecure_remote`` states that another
    layer protects them. Unix sockets have ``unix_mode`` before anyone can connect.
    """

    def __init__(
        self,
        server: grpc.Server,
        *,
        credentials: Callable[[], grpc.ServerCredentials] | None = None,
        insecure_remote: bool = False,
        unix_mode: int = UNIX_MODE,
    ) -> None:
        self._server = server
        self._credentials = credentials
        self._insecure_remote = insecure_remote
        self._files = SocketPaths(unix_mode)
        self.ports: set[int] = set()
        """The bound TCP ports."""

    def bind(self, address: TcpAddress | UnixAddress) -> str:
        """Bind one address and return it as clients write it, with its actual port; raise ListenError."""
        if isinstance(address, TcpAddress):
            if not (address.is_loopback or self._credentials or self._insecure_remote):
                raise ListenError(
                    f"{address} can be reached from other machines and has no TLS: give --tls-cert and --tls-key, "
                    "listen on loopback or a Unix socket, or set --insecure-remote",
                )
            port = self._add_port(address)
            self.ports.add(port)
            return str(TcpAddress(address.host, port))
        with self._files.binding(address.path):
            self._add_port(address)
        return str(address)

    @property
    def paths(self) -> tuple[Path, ...]:
        """The bound Unix sockets."""
        return self._files.paths

    def lost(self) -> list[Path]:
        """Return the sockets that clients can no longer reach, since the file was removed or replaced."""
        return self._files.lost()

    def close(self) -> None:
        """Remove the sockets that still belong to this server, then release their locks."""
        self._files.close()

    def _add_port(self, address: TcpAddress | UnixAddress) -> int:
        try:
            if isinstance(address, TcpAddress) and self._credentials is not None:
                port: int = self._server.add_secure_port(str(address), self._credentials())
            else:
                port = self._server.add_insecure_port(str(address))
        except RuntimeError as refusal:
            raise ListenError(f"cannot bind {address}: in use, or not permitted") from refusal
        return port
