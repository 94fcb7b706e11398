"""Parse the option values of a guard: its targets and its worker processes."""

import typer

from evalward.errors import CodedError
from evalward.guard.target import Target
from evalward.judging.workers.cores import available_cores
from evalward.policy import parse_allow_eval

MOST_WORKERS = 256


def targets(value: str) -> frozenset[Target]:
    """Return the targets of ``--allow-eval``."""
    try:
        return parse_allow_eval(value)
    except CodedError as error:
        raise typer.BadParameter(error.message) from None


def workers(text: str) -> int:
    """Return the number of worker processes; ``auto`` is one per core."""
    if text == "auto":
        return available_cores()
    if text.isascii() and text.isdigit() and int(text) <= MOST_WORKERS:
        return int(text)
    raise typer.BadParameter(f"--workers is a number up to {MOST_WORKERS}, or auto")
