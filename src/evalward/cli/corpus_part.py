"""Options of the commands that run a corpus for real: a part of the cases, to save time."""

from typing import Annotated

import typer

Every = Annotated[int, typer.Option(min=1, metavar="N", help="Run only every N-th case, to save time.")]
First = Annotated[
    int, typer.Option("--from", min=1, metavar="K", help="With --every: begin with the K-th case.")
]
