"""TLS for the server's TCP sockets: any fault stops the start, and new files are taken while it serves.

The files are tried before they are used: certificate and key must belong together, and a handshake with itself must
succeed, which finds a certificate that has expired. Clients must show a certificate when a CA is given (service.md,
"Sockets, identity, limits").
"""

from __future__ import annotations

import logging
import os
import ssl
import threading
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import grpc

from evalward.audit import AuditRecord, Kind
from evalward.errors import Code, CodedError
from evalward.server.reload_record import recorded

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from evalward.audit import AuditSink

LOG = logging.getLogger("evalward.server")

_FLIGHTS = 8  # more than any handshake has


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """PEM files: the chain, its private key, and the CA whose clients are let in (None: any client)."""

    certificate: Path
    key: Path
    client_ca: Path | None = None

    def paths(self) -> tuple[Path, ...]:
        """Return the files that there are."""
        return tuple(path for path in (self.certificate, self.key, self.client_ca) if path is not None)


class Certificates:
    """The certificates in force, of files that worked when they were last taken; raise CodedError (CONFIG_INVALID)."""

    def __init__(self, files: TlsFiles) -> None:
        self.files = files
        self._lock = threading.Lock()
        self._texts = _texts(files)
        _try(files)
        self._current = _configuration(files, self._texts)

    def credentials(self) -> grpc.ServerCredentials:
        """Return credentials for one socket, which follow the certificates in force: gRPC asks at each handshake.

        Each socket needs its own: gRPC gives what is new to the one whose handshake it asks at, and to no other.
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
        """Take the files anew; False when they should be tried again, since ``audit_log`` does not take the record."""
        with self._lock:
            try:
                texts = _texts(self.files)
                if texts == self._texts:
                    return True
                digest = _try(self.files)
            except CodedError as refusal:
                LOG.error("new TLS files are not used: %s", refusal.message)  # noqa: TRY400 - the cause is in the text
                return recorded(audit_log, AuditRecord(kind=Kind.TLS_REJECT, code=Code(refusal.code)))
            if not recorded(audit_log, AuditRecord(kind=Kind.TLS_LOAD, certificate=digest)):
                return False
            self._texts, self._current = texts, _configuration(self.files, texts)
            LOG.info("new TLS files are in force, certificate %s", digest)
            return True


def _texts(files: TlsFiles) -> Mapping[Path, bytes]:
    return {path: _read(path) for path in files.paths()}


def _configuration(files: TlsFiles, texts: Mapping[Path, bytes]) -> Any:
    roots = None if files.client_ca is None else texts[files.client_ca]
    return grpc.ssl_server_certificate_configuration(
        [(texts[files.key], texts[files.certificate])], root_certificates=roots
    )


def _try(files: TlsFiles) -> str:
    """Return the SHA-256 of the certificate, as ``openssl x509 -fingerprint -sha256`` counts it.

    Raise CodedError unless a client that trusts this very certificate can shake hands with it today.
    """
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        server.load_cert_chain(files.certificate, files.key, password=_no_password)
        client.load_verify_locations(files.certificate)
        if files.client_ca is not None:
            server.load_verify_locations(files.client_ca)
        return sha256(_shake_hands(server, client)).hexdigest()
    except (ssl.SSLError, ValueError) as fault:
        why = getattr(fault, "verify_message", "") or getattr(fault, "reason", "") or str(fault)
        raise _refused(f"{files.certificate} and {files.key} do not work: {why}") from None


def _no_password() -> str:
    raise ValueError("the key is encrypted; give one that is not, in a file that only the service can read")


def _shake_hands(server: ssl.SSLContext, client: ssl.SSLContext) -> bytes:
    """Return the certificate that the client was shown (DER)."""
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
            return asking.getpeercert(binary_form=True) or b""
    raise ValueError("the handshake does not end")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as failure:
        raise _refused(f"{path}: {os.strerror(failure.errno or 0)}") from None


def _refused(why: str) -> CodedError:
    return CodedError(Code.CONFIG_INVALID, f"TLS: {why}.")
