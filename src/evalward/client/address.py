"""The guard's address and the options of the channel to it: TCP, TLS or a Unix socket (contract.md §7)."""

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
    # A proxy from the environment must not read payloads or answer instead of the guard.
    ("grpc.enable_http_proxy", 0),
    # A result is sent twice: typed, and escaped in its envelope.
    ("grpc.max_receive_message_length", 16 * 1024 * 1024),
    # gRPC's default backoff grows to two minutes; a restarted guard must be found at once.
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

    ``certificate`` and ``key`` are the client's, for a server that requires them; a key that is accessible to other
    users is rejected, as the server does with its own. ``server_name`` is the name in the server's certificate, if it
    differs from the address.
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
        """Return the ``ssl`` context equal to gRPC's; raise OSError for a file that cannot be used."""
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
    """The connection data of one guard, whose process may be replaced between two calls."""

    @property
    def address(self) -> Address:
        """The present address and credentials."""

    @property
    def run(self) -> int:
        """The number of the guard's process: when it changes, the channel must connect again."""

    def absence(self) -> str | None:
        """Return why the guard is unavailable now, None if it may be available."""


@dataclass(frozen=True, slots=True)
class Address:
    """A guard's address in gRPC's form, with TLS files, token and socket owner; ``tls`` is None for plain text."""

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
        """Return 0: the process at an address is unknown."""
        return 0

    def absence(self) -> str | None:
        """Return None: only a call shows whether the guard is available."""
        return None

    @property
    def is_plain_tcp(self) -> bool:
        """Whether any process on this machine could listen here instead of the guard."""
        return self.tls is None and not self.target.startswith("unix:")

    def authorised(self, path: str, digest: str) -> tuple[Metadata, Challenge | None]:
        """Return the metadata of a call of ``path``, and the challenge that its replies must answer (None: none).

        ``digest`` is the request's. The token itself is sent only over TLS or a Unix socket.
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
    ``peer_uid`` without a Unix socket, and for plain text to an address that is not loopback: an attacker between
    the two could answer ALLOW instead of the guard. Raise TypeError for an argument of another type.
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
            raise ValueError("a Unix socket does not use TLS")
        path = target.removeprefix("unix:").removeprefix("//")
        return Address(target, None, token, None if peer_uid is None else SocketOwner(path, peer_uid))
    if peer_uid is not None:
        raise ValueError("peer_uid needs unix:PATH: a port does not show its owner")
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
    """Return the link for the arguments of a client's constructor; raise as ``address_of`` does."""
    if address is None or isinstance(address, str):
        return address_of(address, tls=tls, token=token, peer_uid=peer_uid)
    if not hasattr(address, "absence"):
        raise TypeError("address takes str")
    return address


def seconds_of(name: str, value: float) -> float:
    """Return ``value``; raise TypeError or ValueError unless it is a positive time in seconds."""
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
