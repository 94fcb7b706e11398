"""Parse the option values of ``evalward serve``; each error is a usage error that names the allowed values."""

from pathlib import Path

import typer

from evalward.errors.stack import parse_verbose
from evalward.server.addresses import ListenError, TcpAddress, UnixAddress, parse_admin_listen, parse_listen
from evalward.server.settings import TlsFiles
from evalward.server.transport.caller_identity import CERTIFICATE_NAME


def frames(text: str) -> int:
    """Return how many stack frames ``--errors-verbose`` asks for."""
    try:
        return parse_verbose(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def address(text: str) -> TcpAddress | UnixAddress:
    """Return the address of a ``--listen``."""
    try:
        return parse_listen(text)
    except ListenError as refusal:
        raise typer.BadParameter(str(refusal)) from None


def client_names(names: list[str], *, has_ca: bool) -> tuple[str, ...]:
    """Return the names of ``--client-name``, in the form that the audit log has for certificates."""
    if names and not has_ca:
        raise typer.BadParameter(
            "--client-name requires --client-ca: without it no client shows a certificate"
        )
    for name in names:
        if CERTIFICATE_NAME.fullmatch(name) is None:
            raise typer.BadParameter(
                f"--client-name must match {CERTIFICATE_NAME.pattern}, as in the log; it is {name!r}"
            )
    return tuple(names)


def admin_address(text: str) -> TcpAddress:
    """Return the address of ``--admin-listen``."""
    try:
        return parse_admin_listen(text)
    except ListenError as refusal:
        raise typer.BadParameter(str(refusal)) from None


def tls_files(certificate: Path | None, key: Path | None, client_ca: Path | None) -> TlsFiles | None:
    """Return the files of the three TLS options; an incomplete set is a usage error, never a socket without TLS."""
    if certificate is not None and key is not None:
        return TlsFiles(certificate, key, client_ca)
    if certificate is None and key is None and client_ca is None:
        return None
    raise typer.BadParameter("TLS needs --tls-cert and --tls-key; --client-ca requires both")
