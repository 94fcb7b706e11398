"""``evalward health``: tell whether the service at an address is serving.

It imports gRPC and nothing else, since probes run often.
"""

from typing import Annotated

import grpc
import typer

NOT_SERVING = 3
CHECK = "/grpc.health.v1.Health/Check"
# HealthCheckResponse {status: SERVING}; the request for the whole server is an empty message.
SERVING = b"\x08\x01"


def is_serving(address: str, *, timeout: float) -> bool:
    """Ask ``HOST:PORT`` or ``unix:PATH`` within ``timeout`` seconds; every failure is a no."""
    with grpc.insecure_channel(address, options=[("grpc.enable_http_proxy", 0)]) as channel:
        check = channel.unary_unary(CHECK, request_serializer=None, response_deserializer=None)
        try:
            answer: bytes = check(b"", timeout=timeout)
        except grpc.RpcError:
            return False
    return answer == SERVING


def health(
    address: Annotated[
        str, typer.Argument(envvar="EVALWARD_ADDRESS", help="HOST:PORT or unix:PATH.")
    ] = "127.0.0.1:7443",
    *,
    timeout: Annotated[float, typer.Option(min=0.01, help="Seconds to wait for the answer.")] = 2.0,
) -> None:
    """Ask a server whether it serves. Exit code: 0 serving, 3 anything else.

    \b
    Examples:
      evalward health 127.0.0.1:7443
      evalward health unix:/run/evalward/evalward.sock
    """  # noqa: D301 - \b is the help formatter's own mark, not an escape
    if not is_serving(address, timeout=timeout):
        typer.echo(f"{address} is not serving", err=True)
        raise typer.Exit(NOT_SERVING)
    typer.echo(f"{address} is serving")
