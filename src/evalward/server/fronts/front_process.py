"""One front as a process: start it, read its ready line, fetch the pages of its admin listener."""

from __future__ import annotations

import http.client
import json
import os
import selectors
import socket
import subprocess
import time
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from evalward.server.fronts.front_role import MARK
from evalward.server.observe.admin_listener import Page

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from evalward.server.fronts.front_role import FrontRole

START_SECONDS: Final = 30.0
PAGE_SECONDS: Final = 2.0


class FrontProcess:
    """The process of a front with ``role``, started with ``command``; it can be started again after it has ended."""

    def __init__(self, role: FrontRole, command: Sequence[str]) -> None:
        self.role = role
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The process id, None before the first start."""
        return None if self._process is None else self._process.pid

    @property
    def exit_code(self) -> int | None:
        """The exit code, as ``subprocess`` has it; None while it runs, and before the first start."""
        return None if self._process is None else self._process.poll()

    @property
    def runs(self) -> bool:
        """Whether the process was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start the process and send it its role; raise OSError."""
        self.close()
        self.role.admin.unlink(missing_ok=True)
        self._process = subprocess.Popen(  # noqa: S603 - this program itself
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, MARK: "1"},
        )
        if self._process.stdin is not None:
            # The exit code shows why one has ended already.
            with suppress(BrokenPipeError):
                self._process.stdin.write(self.role.line())
                self._process.stdin.flush()

    def ready(self, seconds: float = START_SECONDS) -> Mapping[str, Any] | None:
        """Return the front's ready line; None when it ends before, or does not start within ``seconds``."""
        if self._process is None or self._process.stdout is None:
            return None
        line, end = b"", time.monotonic() + seconds
        descriptor = self._process.stdout.fileno()
        with selectors.DefaultSelector() as waiting:
            waiting.register(descriptor, selectors.EVENT_READ)
            while not line.endswith(b"\n"):
                if not waiting.select(max(0.0, end - time.monotonic())):
                    return None
                received = os.read(descriptor, 4096)
                if not received:
                    return None
                line += received
        said: Mapping[str, Any] = json.loads(line)
        return said

    def signal(self, number: int) -> None:
        """Send the signal ``number``, if the process runs."""
        if self._process is not None:
            self._process.send_signal(number)

    def wait(self, seconds: float) -> int | None:
        """Return the exit code, None when the process still runs after ``seconds``."""
        if self._process is None:
            return 0
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def close(self) -> None:
        """Close the pipes: a front that still runs ends, as without its supervisor."""
        if self._process is not None:
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    pipe.close()

    def page(self, path: str) -> Page | None:
        """Return the page ``path`` of the front's admin listener, None when it gives none in time."""
        connection = _UnixConnection(self.role.admin, PAGE_SECONDS)
        try:
            connection.request("GET", path)
            reply = connection.getresponse()
            return Page(HTTPStatus(reply.status), reply.headers.get("Content-Type", ""), reply.read())
        except (OSError, http.client.HTTPException, ValueError):
            return None
        finally:
            connection.close()


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: Path, seconds: float) -> None:
        super().__init__("localhost", timeout=seconds)
        self._path = path
        self._seconds = seconds

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self._seconds)
        self.sock.connect(str(self._path))
