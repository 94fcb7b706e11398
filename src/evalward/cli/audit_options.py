"""Shared parts of the ``evalward audit`` commands: options, reading the files of a log, exit on failure."""

import resource
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from evalward.audit import AuditKey, load_key
from evalward.audit.chain import Head
from evalward.audit.files import LogFile, read_files
from evalward.audit.read import since
from evalward.cli.audit_place import default_audit_log
from evalward.cli.exit_codes import INFRASTRUCTURE_FAILURE
from evalward.errors import CodedError
from evalward.server.fronts.front_role import logs_of


def _age(text: str) -> datetime:
    try:
        return since(text, now=datetime.now(UTC))
    except (ValueError, OverflowError):
        raise typer.BadParameter(
            f"{text!r} is neither an age such as 24h nor a time such as 2026-11-22T08:00:00Z"
        ) from None


def head_option(text: str) -> Head:
    """Parse a head as ``evalward audit head`` prints it."""
    try:
        return Head.parse(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def _key(path: str) -> AuditKey:
    try:
        return load_key(path)
    except CodedError as error:
        raise failure(error.message) from None


Files = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="[FILE]...",
        help="The log and the files set aside from it, in any order; default: the logs of `evalward serve`.",
    ),
]
Key = Annotated[
    AuditKey | None,
    typer.Option("--audit-key", parser=_key, metavar="FILE", envvar="EVALWARD_AUDIT_KEY", help="Its key."),
]
Since = Annotated[
    datetime | None,
    typer.Option("--since", parser=_age, metavar="AGE|TIME", help="30s, 15m, 24h, 7d, or RFC 3339."),
]


def read_logs(files: list[Path] | None) -> list[LogFile]:
    """Open ``files``, by default the logs of `evalward serve`; exit with INFRASTRUCTURE_FAILURE if that fails."""
    # Each file stays open, so that a rotation has no effect; a log may have more files than the usual limit of 1,024.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    try:
        return read_files(files or logs_of(default_audit_log()))
    except OSError as error:
        hint = (
            ""
            if files
            else "; this is the log of `evalward serve` without --audit-log, name another one as FILE"
        )
        raise failure(f"cannot read {error.filename}: {error.strerror}{hint}") from None


def failure(text: str) -> typer.Exit:
    """Report ``text`` on standard error and return the exit to raise."""
    typer.echo(f"evalward audit: {text}", err=True)
    return typer.Exit(INFRASTRUCTURE_FAILURE)
