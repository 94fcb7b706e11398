"""Addresses the server listens on: TCP endpoints and Unix socket paths, parsed from command-line text."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path

DEFAULT_LISTEN = "127.0.0.1:7443"
DEFAULT_ADMIN_PORT = 7480
MAX_PORT = 65535


class ListenError(Exception):
    """An address that cannot be served; the text says which and why."""


@dataclass(frozen=True, slots=True)
class TcpAddress:
    """A host and a port; port 0 requests a free one."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return self.host == "localhost" or ipaddress.ip_address(self.host).is_loopback

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class UnixAddress:
    """The path of a Unix socket."""

    path: Path

    def __str__(self) -> str:
        return f"unix:{self.path}"


def parse_listen(text: str) -> TcpAddress | UnixAddress:
    """Parse ``ADDRESS:PORT``, ``[IPV6]:PORT``, ``localhost:PORT`` or ``unix:PATH``; raise ListenError.

    Host names other than localhost are rejected, since their addresses can change.
    """
    if text.startswith("unix:"):
        path = text.removeprefix("unix:").removeprefix("//")
        if not path or "\0" in path:
            raise ListenError(f"{text!r}: a Unix address is unix:PATH")
        return UnixAddress(Path(path).absolute())
    host, colon, digits = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not digits.isascii() or not digits.isdigit() or int(digits) > MAX_PORT:
        raise ListenError(f"{text!r}: an address is HOST:PORT, [IPV6]:PORT or unix:PATH")
    if host != "localhost":
        try:
            ipaddress.ip_address(host)
        except ValueError:
            raise ListenError(f"{text!r}: the host is localhost or an IP address") from None
    return TcpAddress(host, int(digits))


def parse_admin_listen(text: str) -> TcpAddress:
    """Parse ``HOST:PORT``, or ``HOST`` alone for port 7480, like ``parse_listen``; raise ListenError."""
    bare = text.removeprefix("[").removesuffix("]")
    has_port = "]:" in text if text.startswith("[") else text.count(":") == 1
    address = parse_listen(text if has_port else f"[{bare}]:{DEFAULT_ADMIN_PORT}")
    if not isinstance(address, TcpAddress):
        raise ListenError(f"{text!r}: the admin listener is TCP only")
    return address
