"""TLS for the TCP sockets: any fault stops the start; changed files are loaded while serving.

Files are verified before use: the key must be a private file, certificate and key must match, and a handshake with
itself must succeed, which detects an expired certificate. ``Certificates.state`` reports a later expiry. With a client
CA, clients must present a certificate (service.md, "Sockets, identity, limits").
"""

from __future__ import annotations

import logging
import os
import ssl
import threading
import time
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import grpc

from evalward.audit import AuditRecord, Kind
from evalward.errors import Code, CodedError
from evalward.private_file import NotPrivateError, read_private
from evalward.server.file_reload import raise_if_transient, recorded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from evalward.audit import AuditSink
    from evalward.server.settings import TlsFiles

LOG = logging.getLogger("evalward.server")

_FLIGHTS: Final = 8  # more than any handshake needs
_MOST_BYTES: Final = 1024 * 1024
VALID: Final = "ok"


class Validity(NamedTuple):
    """The end of validity in seconds since the epoch; ``client_ca`` is None without a client CA.

    ``digest`` is the SHA-256 of the certificate, as ``openssl x509 -fingerprint -sha256`` prints it.
    """

    digest: str
    server: float
    client_ca: float | None

    def ends(self) -> dict[str, float]:
        """Return the expiry times by certificate."""
        return {
            "server": self.server,
            **({} if self.client_ca is None else {"client_ca": self.client_ca}),
        }


class Certificates:
    """The certificates in force, from files that worked when loaded; raise CodedError (CONFIG_INVALID)."""

    def __init__(self, files: TlsFiles, *, clock: Callable[[], float] = time.time) -> None:
        self.files = files
        self._clock = clock
        self._lock = threading.Lock()
        self._texts = _texts(files)
        self.validity = _try(files)
        self._current = _configuration(files, self._texts)
        self._told = VALID

    def credentials(self) -> grpc.ServerCredentials:
        """Return credentials for one socket, which follow the certificates in force: gRPC asks at each handshake.

        Each socket needs its own: gRPC delivers an update only to the socket whose handshake asked for it.
        """
        given = self._current

        def newer() -> Any:
            nonlocal given
            if self._current is given:
                return None
            given = self._current
            return given

        return grpc.dynamic_ssl_server_credentials(
            given, newer, require_client_authentication=self.files.client_ca is not None
        )

    def reload(self, audit_log: AuditSink) -> bool:
        """Reload the files; return False to retry later, when ``audit_log`` does not accept the record.

        Raises TransientFileError when the files cannot be read temporarily.
        """
        with self._lock:
            try:
                texts = _texts(self.files)
                if texts == self._texts:
                    return True
                validity = _try(self.files)
            except CodedError as refusal:
                raise_if_transient(refusal)
                LOG.error("the changed TLS files are rejected: %s", refusal.message)  # noqa: TRY400 - the cause is in the text
                return recorded(audit_log, AuditRecord(kind=Kind.TLS_REJECT, code=Code(refusal.code)))
            if not recorded(audit_log, AuditRecord(kind=Kind.TLS_LOAD, certificate=validity.digest)):
                return False
            self._texts, self._current = texts, _configuration(self.files, texts)
            self.validity = validity
            LOG.info(
                "new TLS files are in force, certificate %s, until %s",
                validity.digest,
                _date(validity.server),
            )
            return True

    def ends(self) -> dict[str, float]:
        """Return the expiry times of the certificates in force, by name, in seconds since the epoch."""
        return self.validity.ends()

    def state(self) -> str:
        """Return ``ok``, or which certificate has expired: no new client can connect then."""
        now = self._clock()
        expired = [name for name, end in self.validity.ends().items() if end <= now]
        return f"failed: expired: {', '.join(expired)}" if expired else VALID

    def log_expiry(self) -> bool:
        """Log an expiry once; return False, so that the file watch calls again."""
        state, told = self.state(), self._told
        self._told = state
        if state not in {VALID, told}:
            LOG.error("no new client can connect over TLS, %s; changed files are loaded automatically", state)
        return False


def _texts(files: TlsFiles) -> Mapping[Path, bytes]:
    return {path: _read(path, is_secret=path == files.key) for path in files.paths()}


def _configuration(files: TlsFiles, texts: Mapping[Path, bytes]) -> Any:
    roots = None if files.client_ca is None else texts[files.client_ca]
    return grpc.ssl_server_certificate_configuration(
        [(texts[files.key], texts[files.certificate])], root_certificates=roots
    )


def _try(files: TlsFiles) -> Validity:
    """Return the files' validity; raise CodedError unless a client that trusts this certificate can connect now."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        server.load_cert_chain(files.certificate, files.key, password=_no_password)
        client.load_verify_locations(files.certificate)
        if files.client_ca is not None:
            server.load_verify_locations(files.client_ca)
        shown = _shake_hands(server, client)
        return Validity(
            sha256(shown.getpeercert(binary_form=True) or b"").hexdigest(),
            _end_of(shown.getpeercert() or {}),
            # Any valid CA still admits its own clients.
            None if files.client_ca is None else max(map(_end_of, server.get_ca_certs()), default=0.0),
        )
    except (ssl.SSLError, ValueError) as fault:
        why = getattr(fault, "verify_message", "") or getattr(fault, "reason", "") or str(fault)
        raise _refused(f"{files.certificate} and {files.key} do not work: {why}") from None


def _end_of(certificate: Mapping[str, Any]) -> float:
    return float(ssl.cert_time_to_seconds(certificate["notAfter"]))


def _date(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"


def _no_password() -> str:
    raise ValueError("the key is encrypted; use an unencrypted key in a file that only the service can read")


def _shake_hands(server: ssl.SSLContext, client: ssl.SSLContext) -> ssl.SSLObject:
    """Return the client's side of a completed handshake."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    asking = client.wrap_bio(to_client, to_server, server_side=False)
    sides = [
        asking,
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    for _ in range(_FLIGHTS):
        for side in tuple(sides):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
            sides.remove(side)
        if not sides:
            return asking
    raise ValueError("the handshake does not end")


def _read(path: Path, *, is_secret: bool) -> bytes:
    try:
        return read_private(path, most=_MOST_BYTES) if is_secret else path.read_bytes()
    except OSError as failure:
        raise _refused(f"{path}: {os.strerror(failure.errno or 0)}") from None
    except NotPrivateError as refusal:
        raise _refused(f"{path}: {refusal}") from None


def _refused(why: str) -> CodedError:
    return CodedError(Code.CONFIG_INVALID, f"TLS: {why}.")
