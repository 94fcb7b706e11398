"""Where the guard listens, and how a channel to it is made: TCP, TLS or a Unix socket (contract.md §7)."""

from __future__ import annotations

import ipaddress
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

import grpc

if TYPE_CHECKING:
    from pathlib import Path

DEFAULT_ADDRESS: Final = "127.0.0.1:7443"
CONNECT_SECONDS: Final = 2.0
CHANNEL_OPTIONS: Final = (
    # A proxy from the environment must not see payloads, nor answer in the guard's place.
    ("grpc.enable_http_proxy", 0),
    # A result comes twice, typed and in its envelope, and escaped in the second.
    ("grpc.max_receive_message_length", 16 * 1024 * 1024),
    # gRPC's own pauses grow to two minutes; a guard that is back must be found at once.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1_000),
)
_TLS: Final = "tls:"
_TOKEN: Final = re.compile(r"[!-~]+")


@dataclass(frozen=True, slots=True)
class Tls:
    """Files (PEM) for TLS: ``ca`` signs the server, None for the system's roots.

    ``certificate`` and ``key`` are the client's own, for a server that demands one. ``server_name`` is the
    name in the server's certificate, where it is not the address's.
    """

    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    server_name: str | None = None

    def credentials(self) -> grpc.ChannelCredentials:
        """Read the files; raise OSError for one that cannot be read."""
        return grpc.ssl_channel_credentials(
            root_certificates=_read(self.ca),
            private_key=_read(self.key),
            certificate_chain=_read(self.certificate),
        )


class Link(Protocol):
    """The way to one guard, which may be another process from one call to the next."""

    @property
    def address(self) -> Address:
        """Where it is, and what goes with a call at this moment."""

    @property
    def run(self) -> int:
        """Which of its processes this is: a new number means that the channel must be ready anew."""

    def absence(self) -> str | None:
        """Return why it cannot be asked at this moment, None if it can."""


@dataclass(frozen=True, slots=True)
class Address:
    """A guard's address as gRPC takes it, and how to speak to it; ``tls`` is None for plain text."""

    target: str
    tls: Tls | None = None
    token: str | None = None

    @property
    def address(self) -> Address:
        """Return itself: an address is the simplest link."""
        return self

    @property
    def run(self) -> int:
        """Return the only number that there is: nobody knows which process serves here."""
        return 0

    def absence(self) -> str | None:
        """Return None: only a call can tell."""
        return None

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """Return what goes with every call."""
        return () if self.token is None else (("authorization", f"Bearer {self.token}"),)

    @property
    def options(self) -> tuple[tuple[str, str | int], ...]:
        """Return the options of a channel."""
        if self.tls is None or self.tls.server_name is None:
            return CHANNEL_OPTIONS
        return (*CHANNEL_OPTIONS, ("grpc.ssl_target_name_override", self.tls.server_name))


def address_of(text: str | None = None, *, tls: Tls | None = None, token: str | None = None) -> Address:
    """Read ``HOST:PORT``, ``tls:HOST:PORT`` or ``unix:PATH``; None: EVALWARD_ADDRESS, then 127.0.0.1:7443.

    Raise ValueError for an address that is none of these, for a token that no header can carry, and for
    plain text beyond loopback: whoever sits between could answer ALLOW in the guard's place.
    """
    target = text or os.environ.get("EVALWARD_ADDRESS") or DEFAULT_ADDRESS
    if token is not None and _TOKEN.fullmatch(token) is None:
        raise ValueError("a token is printable ASCII without spaces")
    if target.startswith(_TLS):
        target, tls = target.removeprefix(_TLS), tls or Tls()
    if target.startswith("unix:"):
        if tls is not None:
            raise ValueError("a Unix socket speaks no TLS")
        return Address(target, token=token)
    host, _, port = target.rpartition(":")
    if not host or not (port.isascii() and port.isdigit()):
        raise ValueError("an address is HOST:PORT, tls:HOST:PORT or unix:PATH")
    if tls is None and not _is_loopback(host):
        raise ValueError(
            f"{host} is not this machine: give its certificates with tls=, or write tls:HOST:PORT"
        )
    return Address(target, tls, token)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return False


def _read(path: Path | None) -> bytes | None:
    return None if path is None else path.read_bytes()
