"""The stdin of ``serve --parent``: its first line is the token of this run, its end means that the parent has ended.

A pipe closes when its process ends in any way, so the service ends with its parent; and a token from a pipe appears in
no command line, environment or file.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from evalward.server.transport.token_gate import TOKEN
from evalward.thread_pool import start

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

_LINE_BYTES: Final = 514


class NoTokenError(ValueError):
    """The parent sent no valid token."""


def read_token(stdin: BinaryIO) -> str:
    """Return the token in the first line of ``stdin``: 16 to 512 printable ASCII characters, no space.

    Raise NoTokenError for anything else, including the end of the stream.
    """
    line = stdin.readline(_LINE_BYTES)
    token = line.removesuffix(b"\n")
    if token == line or TOKEN.fullmatch(token) is None:
        raise NoTokenError("--parent needs a token as the first line of standard input")
    return token.decode()


def when_closed(stdin: BinaryIO, then: Callable[[], None]) -> None:
    """Call ``then`` when ``stdin`` ends; later input is discarded. Raise NoThreadError."""
    descriptor = stdin.fileno()

    def wait() -> None:
        # Unbuffered: a thread that waits in the buffer holds its lock, which blocks the interpreter's shutdown.
        # An unreadable pipe counts as closed, since the parent's end could not be detected.
        with suppress(OSError):
            while os.read(descriptor, _LINE_BYTES):
                pass
        then()

    start(threading.Thread(target=wait, name="parent", daemon=True))
