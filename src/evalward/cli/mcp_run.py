"""``evalward mcp -- COMMAND``: a guard before an MCP server that stays as it is."""

import os
import shutil
import signal
import socket
import sys
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, BinaryIO

import typer

from evalward.cli import mcp_options as options
from evalward.cli.exit_codes import INFRASTRUCTURE_FAILURE
from evalward.cli.log_format import LogStyle, log_to_stderr
from evalward.proxy.listing import Listing
from evalward.proxy.process_tree import ServerProcess, adopt_orphans
from evalward.proxy.session import Session
from evalward.proxy.stdio import StdioProxy

if TYPE_CHECKING:
    from collections.abc import Callable

    from evalward.proxy.call_guard import CallGuard
    from evalward.proxy.judge import CallJudge
    from evalward.tools import Manifest

_SWITCH_SECONDS = 0.001
_GRACE_SECONDS = 5.0
_SIGNALLED = 128


def run(  # noqa: PLR0913 - one parameter per option
    command: options.OptionalCommand = None,
    *,
    manifest: options.Manifest = None,
    allow_eval: options.AllowEval = "",
    policy: options.Policy = None,
    audit_log: options.AuditLog = None,
    workers: options.Workers = "1",
    server: options.Server = None,
    http: options.Http = None,
    listen: options.Listen = "127.0.0.1:0",
) -> None:
    """Run the server's COMMAND with a guard before it; `evalward mcp -- COMMAND` means the same.

    Every message passes unchanged, but for calls of tools that carry code, URLs, markup, launch values or paths: those
    are judged first. A denied call is answered with the reason. Without --allow-eval or --policy no code may run.

    \b
    Examples:
      evalward mcp --allow-eval renderer -- npx -y @playwright/mcp@latest --headless
      evalward mcp --manifest manifest.yaml -- python my_server.py
      evalward mcp --allow-eval renderer --http http://127.0.0.1:8931/mcp --listen 127.0.0.1:8932
    """  # noqa: D301 - \b is the help formatter's own mark, not an escape
    if bool(command) == (http is not None):
        raise typer.BadParameter("give the server's command behind --, or its URL with --http")
    log_to_stderr(LogStyle.TEXT)
    sys.setswitchinterval(_SWITCH_SECONDS)

    def asked() -> "tuple[CallGuard, Manifest | None]":
        # Imported while the server starts: its answer to initialize does not wait for the guard.
        from evalward.cli.mcp_guard import guard_of, manifest_of  # noqa: PLC0415

        declared = manifest_of(manifest)
        made = guard_of(
            server=server, policy=policy, allow_eval=allow_eval, audit_log=audit_log, workers=workers
        )
        return made, declared

    if http is not None:
        from evalward.cli.mcp_http import serve_http  # noqa: PLC0415 - loads an HTTP server

        guard, declared = asked()
        try:
            serve_http(http, listen, guard, declared=declared, source=str(manifest or ""))
        finally:
            guard.close()
        return
    _run_command(command or [], asked, str(manifest or ""))


def _run_command(
    command: list[str], asked: "Callable[[], tuple[CallGuard, Manifest | None]]", source: str
) -> None:
    client_in, client_out = _own_streams()
    adopt_orphans()
    process = _started(command)
    judge: Future[CallJudge] = Future()
    listing = Listing()
    proxy = StdioProxy(
        Session(judge.result, listing), listing, process, client_in=client_in, client_out=client_out
    )
    _stop_on_signals(proxy)
    guard: CallGuard | None = None
    has_server_ended = False
    try:
        proxy.start()
        guard, declared = asked()
        from evalward.proxy.judge import CallJudge as Judge  # noqa: PLC0415 - after the server has started

        judge.set_result(Judge(guard, listing, declared=declared, source=source, told=set()))
        has_server_ended = proxy.wait()
    finally:
        process.close_input()
        if guard is not None:
            guard.close()
        code = process.end(seconds=_GRACE_SECONDS)
    if has_server_ended and code:
        raise typer.Exit(code if code > 0 else _SIGNALLED - code)


def _stop_on_signals(proxy: StdioProxy) -> None:
    """End ``proxy`` at the first signal, and let no later one interrupt the end, which leaves no process behind.

    A handler that raised could do it within an import or while the guard is being built, so that parts of it stay.
    """
    heard, told = socket.socketpair()
    told.setblocking(False)
    signal.set_wakeup_fd(told.fileno())
    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _go_on)

    def wait(_open: socket.socket) -> None:
        heard.recv(1)
        proxy.stop()

    # The thread keeps the other end open.
    threading.Thread(target=wait, args=(told,), name="proxy-signals", daemon=True).start()


def _go_on(_number: int, _frame: object) -> None:
    """Do nothing: the thread that reads the wake-up socket ends the proxy."""


def _own_streams() -> tuple[BinaryIO, BinaryIO]:
    """Return the client's streams; whatever else writes to standard output goes to standard error."""
    client_in = os.fdopen(os.dup(0), "rb")
    client_out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return client_in, client_out


def _started(command: list[str]) -> ServerProcess:
    try:
        return ServerProcess([shutil.which(command[0]) or command[0], *command[1:]])
    except OSError as error:
        typer.echo(f"evalward mcp: {command[0]} cannot be started: {error.strerror}", err=True)
        raise typer.Exit(INFRASTRUCTURE_FAILURE) from None
