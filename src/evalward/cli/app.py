"""The ``evalward`` command: its options and the modules of its commands."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from evalward.cli.exit_codes import INFRASTRUCTURE_FAILURE, USAGE
from evalward.cli.lazy import LazyGroup


class _Commands(LazyGroup):
    homes = {  # noqa: RUF012 - declared ClassVar in the base class
        "check": "evalward.cli.check:check",
        "demo": "evalward.cli.demo:demo",
        "mcp": "evalward.cli.mcp:app",
        "serve": "evalward.cli.serve:serve",
        "health": "evalward.cli.health:health",
        "hook": "evalward.cli.hook:app",
        "codes": "evalward.cli.codes:codes",
        "explain": "evalward.cli.explain:explain",
        "sinks": "evalward.cli.sinks:sinks_command",
        "tools": "evalward.cli.tools:app",
        "policy": "evalward.cli.policy:app",
        "corpus": "evalward.cli.corpus:app",
        "harden": "evalward.cli.harden:harden",
        "eval": "evalward.cli.eval:eval_command",
        "audit": "evalward.cli.audit:app",
        "lsp": "evalward.cli.lsp:lsp",
        "playground": "evalward.cli.playground:playground",
        "oracle": "evalward.cli.oracle:oracle",
        "fuzz": "evalward.cli.fuzz:fuzz",
        "fuzz-syntax": "evalward.cli.fuzz_syntax:fuzz_syntax",
    }


app = typer.Typer(
    cls=_Commands,
    name="evalward",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:  # noqa: FBT001 - the signature of a typer callback
    if wanted:
        from importlib.metadata import version  # noqa: PLC0415 - scanning metadata would slow every command

        typer.echo(f"evalward {version('evalward')}")
        raise typer.Exit


@app.callback()
def evalward(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Judge JavaScript that an agent wrote before anything evaluates it.

    Exit code of every command: 0 allowed or fine, 1 blocked or a finding, 2 usage, 3 infrastructure.

    \b
    Examples:
      evalward check -e "document.title" --target renderer
      evalward demo
      evalward serve --allow-eval=renderer
      evalward corpus run corpus
    """  # noqa: D301 - \b is the help formatter's own mark, not an escape


def main() -> None:
    """Run the command line; any failure that is not a verdict or a usage error exits with 3, never 0 or 1."""
    try:
        app()
    except Exception as error:
        if os.environ.get("EVALWARD_VERBOSE"):
            raise
        typer.echo(
            f"evalward: internal error ({type(error).__name__}); set EVALWARD_VERBOSE=1 to see it", err=True
        )
        # A product takes any other failure of its hook for "let the call through".
        sys.exit(USAGE if sys.argv[1:2] == ["hook"] else INFRASTRUCTURE_FAILURE)
