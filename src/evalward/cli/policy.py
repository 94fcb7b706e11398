"""``evalward policy``: the commands about policy files."""

from __future__ import annotations

import typer

from evalward.cli.lazy import LazyGroup


class _Commands(LazyGroup):
    homes = {  # noqa: RUF012 - declared ClassVar in the base class
        "check": "evalward.cli.policy_check:policy_check",
        "diff": "evalward.cli.policy_diff:policy_diff",
        "schema": "evalward.cli.policy_schema:policy_schema",
        "suggest": "evalward.cli.policy_suggest:policy_suggest",
    }


app = typer.Typer(cls=_Commands, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


@app.callback()
def policy() -> None:
    """Check policy files, compare them, describe their format, draft exceptions."""
