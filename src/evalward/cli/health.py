"""``evalward health``: check whether the service at an address is serving.

It imports only gRPC, since probes run often, also before the server starts. Only if a process listens and the probe
fails, it diagnoses the reason.
"""

import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import grpc
import typer

NOT_SERVING = 3
CHECK = "/grpc.health.v1.Health/Check"
# HealthCheckResponse {status: SERVING}; the request for the whole server is an empty message.
SERVING = b"\x08\x01"
_TLS = "tls:"
_UNREACHABLE = f"{grpc.StatusCode.UNAVAILABLE.name}: "


def failure_of(
    address: str,
    *,
    timeout: float,
    credentials: grpc.ChannelCredentials | None = None,
    server_name: str | None = None,
) -> str | None:
    """Ask ``HOST:PORT`` or ``unix:PATH`` within ``timeout`` seconds; return why it does not serve, None when it does.

    ``credentials`` are those of TLS, None for plain text. ``server_name`` is the name in the server's certificate, if
    it differs from the address.
    """
    options: list[tuple[str, str | int]] = [("grpc.enable_http_proxy", 0)]
    if server_name:
        options += [("grpc.ssl_target_name_override", server_name), ("grpc.default_authority", server_name)]
    if credentials is None:
        channel = grpc.insecure_channel(address, options=options)
    else:
        channel = grpc.secure_channel(address, credentials, options=options)
    with channel:
        check = channel.unary_unary(CHECK, request_serializer=None, response_deserializer=None)
        try:
            answer: bytes = check(b"", timeout=timeout)
        except grpc.RpcError as error:
            status: grpc.StatusCode = error.code()
            return f"{status.name}: {error.details()}"
    return None if answer == SERVING else "it answers NOT_SERVING; its /readyz and its log say why"


def _nobody(target: str, *, timeout: float) -> str | None:
    """Return why no process can be listening at ``target``; None if one is, or if that is unknown."""
    path = target.removeprefix("unix:")
    if path != target:
        return None if os.path.exists(path) else "there is no socket at this path"  # noqa: PTH110 - any file
    host, _, port = target.rpartition(":")
    with suppress(OSError, ValueError):
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=timeout).close()
        except ConnectionRefusedError:
            return "no process listens there"
    return None


def _reason(target: str, tls: tuple[Path | None, Path | None, Path | None, str | None] | None) -> str | None:
    """Diagnose why ``target`` cannot be reached; return the reason and a hint, None if there is no diagnosis."""
    from evalward.client.address import Address, Tls  # noqa: PLC0415 - see the module's docstring
    from evalward.client.diagnosis import FINDINGS, PROBE_SECONDS, Reason, diagnosed  # noqa: PLC0415
    from evalward.errors import Code  # noqa: PLC0415

    where = Address(target, None if tls is None else Tls(*tls))
    try:
        reason = diagnosed(where).result(timeout=2 * PROBE_SECONDS)
    except TimeoutError:
        return None
    if reason is Reason.NO_ANSWER:
        return None
    found = FINDINGS[reason]
    return found.message if found.code is Code.SERVICE_UNREACHABLE else f"{found.message}. {found.hint}"


def health(  # noqa: PLR0913 - one parameter per option
    address: Annotated[
        str, typer.Argument(envvar="EVALWARD_ADDRESS", help="HOST:PORT, tls:HOST:PORT or unix:PATH.")
    ] = "127.0.0.1:7443",
    *,
    timeout: Annotated[float, typer.Option(min=0.01, help="Seconds to wait for the answer.")] = 2.0,
    ca: Annotated[
        Path | None,
        typer.Option(
            envvar="EVALWARD_HEALTH_CA",
            help="TLS: the CA (PEM) of the server's certificate; with tls: and without it, the system's.",
        ),
    ] = None,
    cert: Annotated[
        Path | None,
        typer.Option(
            envvar="EVALWARD_HEALTH_CERT",
            help="TLS: the client's certificate chain (PEM), for a server with --client-ca.",
        ),
    ] = None,
    key: Annotated[
        Path | None, typer.Option(envvar="EVALWARD_HEALTH_KEY", help="TLS: the private key (PEM) to --cert.")
    ] = None,
    server_name: Annotated[
        str | None,
        typer.Option(
            envvar="EVALWARD_HEALTH_SERVER_NAME",
            help="TLS: the name in the server's certificate, if not the address.",
        ),
    ] = None,
) -> None:
    """Ask a server whether it serves. No token is needed. Exit code: 0 serving, 2 usage, 3 anything else.

    \b
    Examples:
      evalward health 127.0.0.1:7443
      evalward health unix:/run/evalward/evalward.sock
      evalward health guard.internal:7443 --ca ca.pem --cert probe.pem --key probe.key
    """  # noqa: D301 - \b is the help formatter's own mark, not an escape
    if (cert is None) is not (key is None):
        raise typer.BadParameter("--cert and --key require each other")
    target = address.removeprefix(_TLS)
    encrypted = target != address or ca is not None or cert is not None or server_name is not None
    if encrypted and target.startswith("unix:"):
        raise typer.BadParameter("a Unix socket has no TLS")
    credentials = None
    if encrypted:
        credentials = grpc.ssl_channel_credentials(
            root_certificates=_read(ca, "--ca"),
            private_key=_read(key, "--key"),
            certificate_chain=_read(cert, "--cert"),
        )
    why = failure_of(target, timeout=timeout, credentials=credentials, server_name=server_name)
    if why is not None and why.startswith(_UNREACHABLE):
        reason = _nobody(target, timeout=timeout) or _reason(
            target, (ca, cert, key, server_name) if encrypted else None
        )
        why = why if reason is None else f"{_UNREACHABLE}{reason}"
    if why is not None:
        typer.echo(f"{address} is not serving ({why})", err=True)
        raise typer.Exit(NOT_SERVING)
    typer.echo(f"{address} is serving")


def _read(file: Path | None, flag: str) -> bytes | None:
    if file is None:
        return None
    try:
        return file.read_bytes()
    except OSError as error:
        raise typer.BadParameter(f"cannot read {file}: {error.strerror}", param_hint=flag) from None
