"""A Chrome DevTools Protocol client over --remote-debugging-pipe: NUL-ended JSON on two inherited descriptors."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import time
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

Message = dict[str, Any]

_READ_BYTES: Final = 1 << 16


class BrowserGoneError(RuntimeError):
    """The browser closed the connection."""


class CommandError(RuntimeError):
    """The browser refused a command; the message is its own."""


class Connection:
    """A browser process and the pipe to it; used by one thread.

    Events that arrive while a command waits are handed to ``on_event``, which may send but must not wait.
    """

    def __init__(self, command: list[str], on_event: Callable[[Message], None]) -> None:
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        # The browser wants exactly the descriptors 3 and 4; the shell puts them there and becomes the browser.
        redirect = f'exec "$0" "$@" 3<&{theirs_in} 4>&{theirs_out}'
        try:
            self._process = subprocess.Popen(  # noqa: S603 - a fixed script; its arguments are not parsed by it
                ["/bin/sh", "-c", redirect, *command],
                pass_fds=(theirs_in, theirs_out),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
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
        """Send a command and return its number; its answer is dropped unless it is waited for."""
        self._next += 1
        message: Message = {"id": self._next, "method": method, "params": params or {}}
        if session is not None:
            message["sessionId"] = session
        try:
            _write_all(self._out, json.dumps(message).encode() + b"\0")
        except OSError as error:
            raise BrowserGoneError("the browser is gone") from error
        return self._next

    def call(
        self, method: str, params: Message | None = None, session: str | None = None, *, timeout: float = 10.0
    ) -> Message:
        """Send a command and return its result.

        Raises CommandError when the browser refuses it, TimeoutError after ``timeout`` seconds, BrowserGoneError.
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
        """Return the next message; raise TimeoutError past ``until`` (monotonic seconds), BrowserGoneError."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._in, selectors.EVENT_READ)
            while b"\0" not in self._buffer:
                if not selector.select(max(0.0, until - time.monotonic())):
                    raise TimeoutError
                chunk = os.read(self._in, _READ_BYTES)
                if not chunk:
                    raise BrowserGoneError("the browser is gone")
                self._buffer += chunk
        raw, _, self._buffer = self._buffer.partition(b"\0")
        message: Message = json.loads(raw)
        return message

    def close(self) -> None:
        """End the browser and everything that it started."""
        os.close(self._in)
        os.close(self._out)
        # The browser's helpers are in its session: none may outlive it.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
