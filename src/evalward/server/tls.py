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
from typing import TYPE_CHECKING, Any

import grpc

from evalward.errors import Code, CodedError

if TYPE_CHECKING:
    from pathlib import Path

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


def server_credentials(files: TlsFiles) -> grpc.ServerCredentials:
    """Return credentials that follow ``files`` as they change; raise CodedError (CONFIG_INVALID)."""
    certificates = _Certificates(files)
    return grpc.dynamic_ssl_server_credentials(
        certificates.current,
        certificates.newer,
        require_client_authentication=files.client_ca is not None,
    )


class _Certificates:
    """The certificates in force, and whether their files have changed; files that do not work are refused once."""

    def __init__(self, files: TlsFiles) -> None:
        self._files = files
        self._lock = threading.Lock()
        self._seen = _stamps(files)
        self.current = _configuration(files)

    def newer(self) -> Any:
        """Return new certificates, or None for the old ones: gRPC asks before each handshake."""
        with self._lock:
            try:
                stamps = _stamps(self._files)
                if stamps == self._seen:
                    return None
                self._seen = stamps
                self.current = _configuration(self._files)
            except CodedError as refusal:
                LOG.error("new TLS files are not used: %s", refusal.message)  # noqa: TRY400 - the cause is in the text
                return None
            LOG.info("new TLS files are in force")
            return self.current


def _configuration(files: TlsFiles) -> Any:
    texts = {path: _read(path) for path in files.paths()}
    _try(files)
    roots = texts[files.client_ca] if files.client_ca is not None else None
    return grpc.ssl_server_certificate_configuration(
        [(texts[files.key], texts[files.certificate])], root_certificates=roots
    )


def _try(files: TlsFiles) -> None:
    """Raise CodedError unless a client that trusts this very certificate can shake hands with it today."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        server.load_cert_chain(files.certificate, files.key, password=_no_password)
        client.load_verify_locations(files.certificate)
        if files.client_ca is not None:
            server.load_verify_locations(files.client_ca)
        _shake_hands(server, client)
    except (ssl.SSLError, ValueError) as fault:
        why = getattr(fault, "verify_message", "") or getattr(fault, "reason", "") or str(fault)
        raise _refused(f"{files.certificate} and {files.key} do not work: {why}") from None


def _no_password() -> str:
    raise ValueError("the key is encrypted; give one that is not, in a file that only the service can read")


def _shake_hands(server: ssl.SSLContext, client: ssl.SSLContext) -> None:
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [
        client.wrap_bio(to_client, to_server, server_side=False),
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
            return
    raise ValueError("the handshake does not end")


def _stamps(files: TlsFiles) -> tuple[tuple[int, int, int], ...]:
    try:
        found = [path.stat() for path in files.paths()]
    except OSError as failure:
        raise _refused(f"{failure.filename}: {failure.strerror}") from None
    return tuple((each.st_ino, each.st_mtime_ns, each.st_size) for each in found)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as failure:
        raise _refused(f"{path}: {os.strerror(failure.errno or 0)}") from None


def _refused(why: str) -> CodedError:
    return CodedError(Code.CONFIG_INVALID, f"TLS: {why}.")
