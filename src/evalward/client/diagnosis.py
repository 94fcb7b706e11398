"""Diagnoses why a guard cannot be reached, since gRPC reports UNAVAILABLE for every cause.

A separate connection, without token or payload, finds out whether a server listens, whether it speaks TLS, and what is
wrong with which certificate. The diagnosis takes at most ``PROBE_SECONDS``.
"""

from __future__ import annotations

import errno
import socket
import ssl
import threading
import time
from concurrent.futures import Future
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from evalward.errors import Code

if TYPE_CHECKING:
    from collections.abc import Callable

    from evalward.client.address import Address, Tls

PROBE_SECONDS: Final = 0.5

# RFC 9113, section 3.4: the client's preface; the server must reply with a SETTINGS frame on stream 0.
_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes.fromhex("000000040000000000")
_FRAME_BYTES: Final = 9
_SETTINGS: Final = 4
_H2: Final = "h2"

# X509_V_ERR_* of OpenSSL's x509_vfy.h, as ssl.SSLCertVerificationError.verify_code.
_NOT_YET_VALID, _EXPIRED, _HOST, _ADDRESS = 9, 10, 62, 64


class Reason(StrEnum):
    """Why the guard cannot be reached; ``details.reason`` of the denial."""

    REFUSED = "refused"
    NO_SOCKET = "no_socket"
    NAME_UNKNOWN = "name_unknown"
    NO_ANSWER = "no_answer"
    CLOSED = "closed"
    NOT_A_GUARD = "not_a_guard"
    NOT_PERMITTED = "not_permitted"
    TLS_EXPECTED = "tls_expected"
    TLS_NOT_SPOKEN = "tls_not_spoken"
    CERTIFICATE_UNTRUSTED = "certificate_untrusted"
    CERTIFICATE_EXPIRED = "certificate_expired"
    CERTIFICATE_NAME = "certificate_name"
    CLIENT_CERTIFICATE = "client_certificate"
    STOPPED = "stopped"


class Finding(NamedTuple):
    """The code, message and hint of the denial for a ``Reason``."""

    code: Code
    message: str
    hint: str


_CHECK_UP: Final = (
    "Nothing runs while the guard is unavailable; check that it is running, then send the same request again."
)
_CHECK_ADDRESS: Final = (
    "Nothing runs until the address is correct: compare it with the ready line of the guard."
)

FINDINGS: Final = {
    Reason.REFUSED: Finding(Code.SERVICE_UNREACHABLE, "no process listens there", _CHECK_UP),
    Reason.NO_SOCKET: Finding(Code.SERVICE_UNREACHABLE, "there is no socket at this path", _CHECK_UP),
    Reason.NAME_UNKNOWN: Finding(Code.SERVICE_UNREACHABLE, "its name cannot be resolved", _CHECK_ADDRESS),
    Reason.NO_ANSWER: Finding(Code.SERVICE_UNREACHABLE, "it does not answer in time", _CHECK_UP),
    Reason.CLOSED: Finding(Code.SERVICE_UNREACHABLE, "the connection was closed", _CHECK_UP),
    Reason.NOT_A_GUARD: Finding(
        Code.SERVICE_UNREACHABLE, "the server there does not speak gRPC", _CHECK_ADDRESS
    ),
    Reason.NOT_PERMITTED: Finding(
        Code.PERMISSION_DENIED,
        "this user may not connect to its socket",
        "Nothing runs until this user is in the socket's group (--unix-mode of the guard).",
    ),
    Reason.TLS_EXPECTED: Finding(
        Code.TLS_FAILED,
        "it expects TLS, and this client uses plain text",
        "Write tls:HOST:PORT, and give the certificates.",
    ),
    Reason.TLS_NOT_SPOKEN: Finding(
        Code.TLS_FAILED,
        "it expects plain text, and this client uses TLS",
        "Start the guard with --tls-cert and --tls-key, or leave out tls: on this machine.",
    ),
    Reason.CERTIFICATE_UNTRUSTED: Finding(
        Code.TLS_FAILED,
        "its certificate is not signed by an authority that this client trusts",
        "Give the authority's certificate as ca; if it was correct before, another server may be answering.",
    ),
    Reason.CERTIFICATE_EXPIRED: Finding(
        Code.TLS_FAILED,
        "its certificate is not valid at this time",
        "Renew the guard's certificate, or set the clock of this machine.",
    ),
    Reason.CERTIFICATE_NAME: Finding(
        Code.TLS_FAILED,
        "its certificate is for another name",
        "Use a name of the certificate in the address, or give it as the server name.",
    ),
    Reason.CLIENT_CERTIFICATE: Finding(
        Code.TLS_FAILED,
        "it requires a client certificate, and this client has none that it accepts",
        "Give certificate and key, signed by the authority of the guard's --client-ca.",
    ),
    Reason.STOPPED: Finding(Code.SERVICE_UNREACHABLE, "it has stopped", _CHECK_UP),
}


def diagnosed(where: Address) -> Future[Reason]:
    """Return a future of the reason why ``where`` cannot be reached; NO_ANSWER when the time is not enough.

    It runs in a separate thread, since a name lookup cannot be cancelled.
    """
    answer: Future[Reason] = Future()
    answer.set_running_or_notify_cancel()  # a running future cannot be cancelled

    def run() -> None:
        try:
            answer.set_result(_reason(where, _Clock(PROBE_SECONDS)))
        except Exception as doubt:  # noqa: BLE001 - a failed diagnosis must not replace the first failure
            answer.set_result(reason_of(doubt) or Reason.NO_ANSWER)

    threading.Thread(target=run, name="evalward-diagnosis", daemon=True).start()
    return answer


class _Clock:
    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left


def _reason(where: Address, clock: _Clock) -> Reason:
    connect = _connector(where.target, clock)
    if where.tls is None:
        try:
            return _greeted(connect())
        except OSError as failure:
            spoken = where.target.startswith("unix:") or not _speaks_tls(connect)
            return (reason_of(failure) or Reason.NO_ANSWER) if spoken else Reason.TLS_EXPECTED
    return _secure(connect, where.tls, where.tls.server_name or _host(where.target))


def _connector(target: str, clock: _Clock) -> Callable[[], socket.socket]:
    """Return a function that connects to ``target`` and times out with ``clock``."""

    def unix() -> socket.socket:
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        made.settimeout(clock.left())
        try:
            made.connect(target.removeprefix("unix:").removeprefix("//"))
        except OSError:
            made.close()
            raise
        return made

    def tcp() -> socket.socket:
        return socket.create_connection((_host(target), int(target.rpartition(":")[2])), clock.left())

    return unix if target.startswith("unix:") else tcp


def _host(target: str) -> str:
    host = target.removeprefix("dns:").removeprefix("///").rpartition(":")[0]
    return host.removeprefix("[").removesuffix("]")


def _greeted(connection: socket.socket) -> Reason:
    """Return what is wrong with an open connection; CLOSED if the server speaks HTTP/2, as a guard does."""
    with connection:
        connection.sendall(_PREFACE)
        frame = b""
        while len(frame) < _FRAME_BYTES:
            received = connection.recv(_FRAME_BYTES - len(frame))
            if not received:
                raise ConnectionResetError(errno.ECONNRESET, "closed")
            frame += received
    if frame[3] == _SETTINGS and not any(frame[5:9]):
        return Reason.CLOSED
    # For example a TLS alert (RFC 8446, section 5.1), sent because the preface is not a handshake.
    raise _NotHttp2Error(errno.EPROTO, "not HTTP/2")


class _NotHttp2Error(OSError):
    """The reply is not an HTTP/2 frame."""


class _ProbeSocket(ssl.SSLSocket):
    """A TLS socket that closes itself when the server reset the connection before the handshake.

    ``SSLContext.wrap_socket()`` leaves its socket open in this case.
    """

    def getpeername(self) -> Any:
        try:
            return super().getpeername()
        except OSError as gone:
            self.close()
            raise ConnectionResetError(errno.ECONNRESET, "closed") from gone


def _handshake(
    connect: Callable[[], socket.socket], context: ssl.SSLContext, host: str | None = None
) -> ssl.SSLSocket:
    """Return an open TLS connection that offers HTTP/2."""
    context.set_alpn_protocols([_H2])
    context.sslsocket_class = _ProbeSocket
    with connect() as plain:
        return context.wrap_socket(plain, server_hostname=host)


def _speaks_tls(connect: Callable[[], socket.socket]) -> bool:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with _handshake(connect, context):
            return True
    except ssl.SSLError as failure:
        # A TLS alert, such as a request for a certificate, shows that the server speaks TLS.
        return "ALERT" in (failure.reason or "")
    except OSError:
        return False


def _secure(connect: Callable[[], socket.socket], tls: Tls, host: str) -> Reason:
    try:
        with _handshake(connect, tls.context(), host) as secure:
            return _welcomed(secure)
    except ssl.SSLCertVerificationError as failure:
        return _CERTIFICATE.get(failure.verify_code, Reason.CERTIFICATE_UNTRUSTED)
    except ssl.SSLError as failure:
        return Reason.CLIENT_CERTIFICATE if "ALERT" in (failure.reason or "") else _unspoken(connect)
    except (ConnectionResetError, BrokenPipeError):
        return _unspoken(connect)


def _welcomed(secure: ssl.SSLSocket) -> Reason:
    if secure.selected_alpn_protocol() != _H2:
        return Reason.NOT_A_GUARD
    try:
        return _greeted(secure)
    except (ssl.SSLError, ConnectionError):
        # A guard sends SETTINGS after the handshake unless it rejected the handshake: in TLS 1.3 a client learns only
        # now that its certificate was rejected.
        return Reason.CLIENT_CERTIFICATE


_CERTIFICATE: Final = {
    _NOT_YET_VALID: Reason.CERTIFICATE_EXPIRED,
    _EXPIRED: Reason.CERTIFICATE_EXPIRED,
    _HOST: Reason.CERTIFICATE_NAME,
    _ADDRESS: Reason.CERTIFICATE_NAME,
}


def _unspoken(connect: Callable[[], socket.socket]) -> Reason:
    """Distinguish a guard in plain text from one that closed the connection."""
    found = _greeted(connect())
    return Reason.TLS_NOT_SPOKEN if found is Reason.CLOSED else found


_ERRNO: Final = {
    errno.ECONNREFUSED: Reason.REFUSED,
    errno.ENOENT: Reason.NO_SOCKET,
    errno.EACCES: Reason.NOT_PERMITTED,
    errno.EPERM: Reason.NOT_PERMITTED,
    errno.ECONNRESET: Reason.CLOSED,
    errno.EPIPE: Reason.CLOSED,
}


def reason_of(failure: Exception) -> Reason | None:
    """Return the reason for ``failure`` of a socket, None when it is unknown."""
    if isinstance(failure, socket.gaierror):
        return Reason.NAME_UNKNOWN
    if isinstance(failure, _NotHttp2Error):
        return Reason.NOT_A_GUARD
    if isinstance(failure, TimeoutError):
        return Reason.NO_ANSWER
    return _ERRNO.get(failure.errno or 0) if isinstance(failure, OSError) else None
