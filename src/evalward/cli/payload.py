"""The payload of a command: ``-e CODE``, a file, or ``-`` for standard input."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import typer


def read_payload(file: str | None, code: str | None) -> bytes:
    """Return the payload's bytes; raise typer.BadParameter unless one source is given and readable."""
    if (file is None) == (code is None):
        raise typer.BadParameter("give either -e CODE, or FILE, or - for standard input")
    if code is not None:
        return os.fsencode(code)
    if file == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(str(file)).read_bytes()
    except OSError as error:
        raise typer.BadParameter(f"cannot read {file}: {error.strerror}") from None
