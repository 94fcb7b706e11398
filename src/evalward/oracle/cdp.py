"""A Chrome DevTools Protocol client over --remote-debugging-pipe: NUL-ended JSON on two descriptors."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import selectors
import signal
import time
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

Message = dict[str, Any]

_READ_BYTES: Final = 1 << 16


class BrowserGoneError(RuntimeError):
    """The browser closed the connection."""


class CommandError(RuntimeError):
    """The browser rejected a command; the message is the browser's."""


class Connection:
    """A browser process and the pipe to it; used by one thread.

    Events that arrive while a command waits go to ``on_event``, which may send but must not wait.
    """

    def __init__(self, command: list[str], on_event: Callable[[Message], None]) -> None:
        theirs_in, ours_out = _pipe()
        ours_in, theirs_out = _pipe()
        null = [(os.POSIX_SPAWN_OPEN, descriptor, os.devnull, os.O_RDWR, 0) for descriptor in range(3)]
        ends = [(os.POSIX_SPAWN_DUP2, theirs_in, 3), (os.POSIX_SPAWN_DUP2, theirs_out, 4)]
        try:
            # Its own process group, so that the browser's helpers can be ended with it.
            self._pid = os.posix_spawn(
                command[0], command, os.environ, file_actions=[*null, *ends], setpgroup=0
            )
        except OSError:
            os.close(ours_in)
            os.close(ours_out)
            raise
        finally:
            os.close(theirs_in)
            os.close(theirs_out)
        self._in, self._out = ours_in, ours_out
        self._on_event = on_event
        self._buffer = b""
        self._next = 0

    def send(self, method: str, params: Message | None = None, session: str | None = None) -> int:
        """Send a command and return its number; its answer is discarded unless a caller waits for it."""
        self._next += 1
        message: Message = {"id": self._next, "method": method, "params": params or {}}
        if session is not None:
            message["sessionId"] = session
        try:
            _write_all(self._out, json.dumps(message).encode() + b"\0")
        except OSError as error:
            raise BrowserGoneError("the browser has exited") from error
        return self._next

    def call(
        self, method: str, params: Message | None = None, session: str | None = None, *, timeout: float = 10.0
    ) -> Message:
        """Send a command and return its result.

        Raises CommandError when the browser refuses it, TimeoutError after ``timeout`` seconds,
        BrowserGoneError.
        """
        number = self.send(method, params, session)
        until = time.monotonic() + timeout
        while True:
            message = self.receive(until)
            if message.get("id") == number:
                if "error" in message:
                    raise CommandError(str(message["error"].get("message", "")))
                result: Message = message["result"]
                return result
            if "method" in message:
                self._on_event(message)

    def receive(self, until: float) -> Message:
        """Return the next message; raise TimeoutError past ``until`` (monotonic), BrowserGoneError."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._in, selectors.EVENT_READ)
            while b"\0" not in self._buffer:
                if not selector.select(max(0.0, until - time.monotonic())):
                    raise TimeoutError
                chunk = os.read(self._in, _READ_BYTES)
                if not chunk:
                    raise BrowserGoneError("the browser has exited")
                self._buffer += chunk
        raw, _, self._buffer = self._buffer.partition(b"\0")
        message: Message = json.loads(raw)
        return message

    def close(self) -> None:
        """End the browser and its child processes."""
        os.close(self._in)
        os.close(self._out)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)


def _pipe() -> tuple[int, int]:
    """Return a pipe whose descriptors are above those of the browser's protocol, so that dup2 overwrites none."""
    low = os.pipe()
    high = [fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10) for descriptor in low]
    for descriptor in low:
        os.close(descriptor)
    return high[0], high[1]


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
