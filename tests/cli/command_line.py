"""The command line in this process: its answer as that of a process, without the time that one takes to start."""

from __future__ import annotations

from subprocess import CompletedProcess

from typer.testing import CliRunner

from evalward.cli.app import app


def run(*arguments: str, stdin: bytes | None = None) -> CompletedProcess[str]:
    """Run ``evalward`` with ``arguments``; an exception that is no exit is raised."""
    done = CliRunner().invoke(app, [*arguments], input=stdin)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return CompletedProcess(["evalward", *arguments], done.exit_code, done.stdout, done.stderr)
