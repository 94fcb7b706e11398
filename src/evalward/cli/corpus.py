"""``evalward corpus``: the commands about cases."""

from __future__ import annotations

import typer

from evalward.cli.lazy import LazyGroup


class _Commands(LazyGroup):
    homes = {  # noqa: RUF012 - declared ClassVar in the base class
        "add": "evalward.cli.corpus_add:corpus_add",
        "compare": "evalward.cli.corpus_compare:corpus_compare",
        "harden": "evalward.cli.corpus_harden:corpus_harden",
        "run": "evalward.cli.corpus_run:run",
        "schema": "evalward.cli.corpus_schema:corpus_schema",
        "verify": "evalward.cli.corpus_verify:corpus_verify",
    }


app = typer.Typer(cls=_Commands, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


@app.callback()
def corpus() -> None:
    """Run cases: payloads with the verdict that each must get."""
