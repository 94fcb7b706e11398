"""``evalward mcp --http URL``: the proxy in front of a server that is reached over streamable HTTP."""

import asyncio
import json
import os
import socket
import sys
from typing import NoReturn
from urllib.parse import urlsplit

import typer

from evalward.cli.exit_codes import INFRASTRUCTURE_FAILURE
from evalward.proxy.call_guard import CallGuard
from evalward.proxy.judge import CallJudge
from evalward.proxy.listing import Listing
from evalward.server.addresses import ListenError, TcpAddress, parse_listen
from evalward.tools import Manifest

_GRACE_SECONDS = 5
_MOST_CONNECTIONS = 256


def serve_http(url: str, listen: str, guard: CallGuard, *, declared: Manifest | None, source: str) -> None:
    """Serve until SIGTERM or SIGINT; one JSON line on standard output has the URL for clients."""
    try:
        import uvicorn  # noqa: PLC0415 - an extra

        from evalward.proxy.http import HttpProxy  # noqa: PLC0415 - as above
        from evalward.proxy.http_headers import hosts_of  # noqa: PLC0415 - as above
    except ImportError:
        _fail("--http needs the MCP SDK: pip install 'evalward[mcp]'")
    address = _address(listen)
    told: set[str] = set()

    def judge_for(listing: Listing) -> CallJudge:
        return CallJudge(guard, listing, declared=declared, source=source, told=told)

    path = _path(url)
    proxy = HttpProxy(url, judge_for, hosts=hosts_of(address.host))
    config = uvicorn.Config(
        proxy.app(),
        log_config=None,
        access_log=False,
        server_header=False,
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    with _bound(address) as bound:
        host, port = bound.getsockname()[:2]
        ready = {"type": "ready", "url": f"http://{TcpAddress(host, port)}{path}", "pid": os.getpid()}
        sys.stdout.write(json.dumps(ready) + "\n")
        sys.stdout.flush()

        async def served() -> None:
            try:
                await uvicorn.Server(config).serve(sockets=[bound])
            finally:
                await proxy.close()

        asyncio.run(served())


def _address(listen: str) -> TcpAddress:
    try:
        address = parse_listen(listen)
    except ListenError as refusal:
        raise typer.BadParameter(str(refusal), param_hint="--listen") from None
    if not isinstance(address, TcpAddress) or not address.is_loopback:
        why = f"{listen!r}: the proxy has no TLS, so it listens on loopback alone"
        raise typer.BadParameter(why, param_hint="--listen")
    return address


def _path(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username or parts.fragment:
        raise typer.BadParameter(f"{url!r} is no http(s) URL of a server", param_hint="--http")
    return parts.path or "/"


def _bound(address: TcpAddress) -> socket.socket:
    try:
        return socket.create_server(
            (address.host, address.port), family=socket.AF_INET6 if ":" in address.host else socket.AF_INET
        )
    except OSError as error:
        _fail(f"{address} cannot be listened on: {error.strerror}")


def _fail(message: str) -> NoReturn:
    typer.echo(f"evalward mcp: {message}", err=True)
    raise typer.Exit(INFRASTRUCTURE_FAILURE)
