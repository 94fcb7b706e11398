"""``evalward check --watch``: judge again whenever a file changes."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Final

import typer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

INTERVAL_SECONDS: Final = 0.3
"""Between two looks at the files. Polling works on every file system, and needs no library."""

_CLEAR: Final = "\x1b[2J\x1b[H"


def watch_rounds(judge: Callable[[], int], files: Callable[[], Iterable[Path]]) -> int:
    """Call ``judge`` now and after each change of ``files``; return its last exit code when the user interrupts.

    A usage error of a round, such as a file that is being replaced, is printed; the next change is judged as usual.
    """
    status = 0
    try:
        while True:
            before = _stamps(files)
            if sys.stdout.isatty():
                typer.echo(_CLEAR, nl=False)
            try:
                status = judge()
            except typer.BadParameter as error:
                typer.echo(error.message, err=True)
                status = error.exit_code
            except typer.Exit as ended:
                status = ended.exit_code
            typer.echo("waiting for a change; Ctrl-C ends", err=True)
            while _stamps(files) == before:
                time.sleep(INTERVAL_SECONDS)
    except KeyboardInterrupt:
        return status


def _stamps(files: Callable[[], Iterable[Path]]) -> dict[Path, tuple[int, int, int]]:
    found = {}
    try:
        for file in files():
            status = file.stat()
            found[file] = (status.st_ino, status.st_mtime_ns, status.st_size)
    except (OSError, typer.BadParameter):
        return {}
    return found
