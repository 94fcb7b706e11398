"""``evalward playground``: a local page that shows verdicts while you type."""

import secrets
import socket
import webbrowser
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from evalward.cli.audit_options import Key, read_logs
from evalward.cli.corpus_run import printable_lines
from evalward.cli.exit_codes import INFRASTRUCTURE_FAILURE, USAGE
from evalward.corpus.corpus_case import CorpusError, load_cases
from evalward.errors import CodedError
from evalward.policy import load_policy

_TOKEN_BYTES = 24


def playground(  # noqa: PLR0913 - one parameter per option
    *,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    policy: Annotated[
        Path | None,
        typer.Option(help="A policy file (.yaml); without one, every target is opted in.", dir_okay=False),
    ] = None,
    corpus: Annotated[
        list[Path] | None,
        typer.Option(metavar="PATH", help="Cases, to see the effect of a policy on them; repeatable."),
    ] = None,
    audit: Annotated[
        list[Path] | None, typer.Option(metavar="LOG", help="An audit log to show; repeatable.")
    ] = None,
    audit_key: Key = None,
    port: Annotated[int, typer.Option(min=0, max=65_535, help="0 takes a free one.")] = 0,
) -> None:
    """Serve a page on this machine: a verdict while you type, with the trace, policies, programs, runs and a log.

    The page makes no request to another host, and never runs a payload itself. Its address has a token: keep
    it to yourself while the command runs. It needs the extra: pip install 'evalward[ui]'.

    \b
    Examples:
      evalward playground --open
      evalward playground --policy policy.yaml --corpus my-cases --audit audit.jsonl --audit-key audit.key
    """  # noqa: D301 - \b is the help formatter's own mark, not an escape
    try:
        import uvicorn  # noqa: PLC0415 - needs the extra

        from evalward.playground.app import Playground, playground_app  # noqa: PLC0415
        from evalward.playground.log_view import LogView  # noqa: PLC0415
    except ImportError:
        typer.echo("evalward playground needs its extra: pip install 'evalward[ui]'", err=True)
        raise typer.Exit(INFRASTRUCTURE_FAILURE) from None
    try:
        in_force = None if policy is None else load_policy(policy)
        text = "" if policy is None or policy.suffix == ".toml" else policy.read_text("utf-8")
        cases = load_cases(corpus) if corpus else ()
    except CorpusError as error:
        typer.echo(printable_lines(error), err=True)
        raise typer.Exit(USAGE) from None
    except CodedError as error:
        typer.echo(f"{error.code}: {error.message}", err=True)
        raise typer.Exit(INFRASTRUCTURE_FAILURE) from None
    log = LogView(read_logs(audit), audit_key, in_force) if audit else None
    page = Playground(version=version("evalward"), policy=in_force, policy_text=text, cases=cases, log=log)
    token, nonce = secrets.token_urlsafe(_TOKEN_BYTES), secrets.token_urlsafe(_TOKEN_BYTES)
    with socket.create_server(("127.0.0.1", port)) as listening:
        address = f"http://127.0.0.1:{listening.getsockname()[1]}/{token}/"
        typer.echo(address)
        if open_browser:
            webbrowser.open(address)
        config = uvicorn.Config(
            playground_app(page, token=token, nonce=nonce),
            access_log=False,  # it would contain the token
            log_level="warning",
            lifespan="off",
            server_header=False,
            ws="none",
        )
        uvicorn.Server(config).run(sockets=[listening])
