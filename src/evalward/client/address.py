"""Where the guard listens, and how a channel to it is made: TCP, TLS or a Unix socket (contract.md §7)."""

from __future__ import annotations

import errno
import ipaddress
import os
import re
import ssl
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

import grpc

from evalward.challenge import AUTH, Challenge, challenge
from evalward.client.peer import SocketOwner
from evalward.private_file import NotPrivateError, read_private

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

Metadata: TypeAlias = tuple[tuple[str, str], ...]

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
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Tls:
    """Files (PEM) for TLS: ``ca`` signs the server, None for the system's roots.

    ``certificate`` and ``key`` are the client's own, for a server that demands one; a key that anybody but its owner
    may touch is not used, as the server does with its own. ``server_name`` is the
    name in the server's certificate, where it is not the address's.
    """

    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    server_name: str | None = None

    def credentials(self) -> grpc.ChannelCredentials:
        """Read the files; raise OSError for one that cannot be read or used."""
        self.context()
        return grpc.ssl_channel_credentials(
            root_certificates=_read(self.ca),
            private_key=_read(self.key),
            certificate_chain=_read(self.certificate),
        )

    def context(self) -> ssl.SSLContext:
        """Return what ``ssl`` needs to connect as gRPC does; raise OSError for a file that cannot be used."""
        if self.key is not None:
            try:
                read_private(self.key, most=0)
            except NotPrivateError as refusal:
                raise PermissionError(
                    errno.EACCES, f"the key is not used: {refusal}", str(self.key)
                ) from None
        context = ssl.create_default_context(cafile=self.ca)
        if self.certificate is not None and self.key is not None:
            context.load_cert_chain(self.certificate, self.key)
        return context


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
    peer: SocketOwner | None = field(default=None, compare=False)

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
    def is_plain_tcp(self) -> bool:
        """Whether anybody on this machine could listen here in the guard's place."""
        return self.tls is None and not self.target.startswith("unix:")

    def authorised(self, path: str, digest: str) -> tuple[Metadata, Challenge | None]:
        """Return what goes with a call of ``path``, and what its answers must prove (None: nothing).

        ``digest`` is the request's. The token itself goes only to a server that TLS or a socket's path vouches for.
        """
        if self.token is None:
            return (), None
        if not self.is_plain_tcp:
            return (("authorization", f"Bearer {self.token}"),), None
        header, expected = challenge(self.token, path, digest, milliseconds=time.time_ns() // 1_000_000)
        return ((AUTH, header),), expected

    @property
    def options(self) -> tuple[tuple[str, str | int], ...]:
        """Return the options of a channel."""
        if self.tls is None or self.tls.server_name is None:
            return CHANNEL_OPTIONS
        return (*CHANNEL_OPTIONS, ("grpc.ssl_target_name_override", self.tls.server_name))


def address_of(
    text: str | None = None, *, tls: Tls | None = None, token: str | None = None, peer_uid: int | None = None
) -> Address:
    """Read ``HOST:PORT``, ``tls:HOST:PORT`` or ``unix:PATH``; None: EVALWARD_ADDRESS, then 127.0.0.1:7443.

    Raise ValueError for an address that is none of these, for a token that no header can carry, for
    ``peer_uid`` without a Unix socket, and for plain text beyond loopback: whoever sits between could answer
    ALLOW in the guard's place. Raise TypeError for an argument of another type.
    """
    _check_types(
        (("address", text, str), ("tls", tls, Tls), ("token", token, str), ("peer_uid", peer_uid, int))
    )
    target = text or os.environ.get("EVALWARD_ADDRESS") or DEFAULT_ADDRESS
    if token is not None and _TOKEN.fullmatch(token) is None:
        raise ValueError("token takes printable ASCII without spaces")
    if target.startswith(_TLS):
        target, tls = target.removeprefix(_TLS), tls or Tls()
    if target.startswith("unix:"):
        if tls is not None:
            raise ValueError("a Unix socket speaks no TLS")
        path = target.removeprefix("unix:").removeprefix("//")
        return Address(target, None, token, None if peer_uid is None else SocketOwner(path, peer_uid))
    if peer_uid is not None:
        raise ValueError("peer_uid goes with unix:PATH: a port does not say whose it is")
    host, _, port = target.rpartition(":")
    if not host or not (port.isascii() and port.isdigit()):
        raise ValueError("address takes HOST:PORT, tls:HOST:PORT or unix:PATH")
    if tls is None and not _is_loopback(host):
        raise ValueError(
            f"{host} is not this machine: give its certificates with tls=, or write tls:HOST:PORT"
        )
    return Address(target, tls, token)


def _check_types(given: Iterable[tuple[str, object, type]]) -> None:
    for name, value, kind in given:
        if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
            raise TypeError(f"{name} takes {kind.__name__}")


def link_of(address: str | Link | None, *, tls: Tls | None, token: str | None, peer_uid: int | None) -> Link:
    """Return what a client's constructor was given as the way to its guard; raise as ``address_of`` does."""
    if address is None or isinstance(address, str):
        return address_of(address, tls=tls, token=token, peer_uid=peer_uid)
    if not hasattr(address, "absence"):
        raise TypeError("address takes str")
    return address


def seconds_of(name: str, value: float) -> float:
    """Return ``value``; raise TypeError or ValueError unless it is a time above zero."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TypeError(f"{name} takes seconds")
    if not 0 < value < float("inf"):
        raise ValueError(f"{name} takes seconds above 0")
    return float(value)


def digest_or_none(name: str, value: str | None) -> str | None:
    """Return ``value``; raise TypeError or ValueError unless it is a lower-case hex SHA-256."""
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{name} takes str")
    if value is not None and _DIGEST.fullmatch(value) is None:
        raise ValueError(f"{name} takes 64 lower-case hex digits, as GetPolicy gives them")
    return value


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return False


def _read(path: Path | None) -> bytes | None:
    return None if path is None else path.read_bytes()
