"""The stdin of ``serve --parent``: its first line is the token of this run, its end is the parent's end.

A pipe outlives no process that holds it, so the service ends with its parent however that dies; and a token
that comes through it stands in no command line, environment or file.
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
    """What the parent sent is no token."""


def read_token(stdin: BinaryIO) -> str:
    """Return the token in the first line of ``stdin``: 16 to 512 printable ASCII characters, no space.

    Raise NoTokenError for anything else, the end of the stream included.
    """
    line = stdin.readline(_LINE_BYTES)
    token = line.removesuffix(b"\n")
    if token == line or TOKEN.fullmatch(token) is None:
        raise NoTokenError("--parent needs a token as the first line of standard input")
    return token.decode()


def when_closed(stdin: BinaryIO, then: Callable[[], None]) -> None:
    """Call ``then`` once ``stdin`` has ended; what else arrives on it is dropped. Raise NoThreadError."""
    descriptor = stdin.fileno()

    def wait() -> None:
        # Past the buffer, whose lock a thread that waits in it would keep from the interpreter's own end.
        # A pipe that cannot be read is as good as closed: who would end this process is not heard.
        with suppress(OSError):
            while os.read(descriptor, _LINE_BYTES):
                pass
        then()

    start(threading.Thread(target=wait, name="parent", daemon=True))
