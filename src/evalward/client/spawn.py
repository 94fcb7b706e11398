"""Runs ``evalward serve --parent`` as a child process, and restarts it when it ends.

For MCP servers that are themselves stdio children of a host. The guard listens on a Unix socket in a private
directory, accepts only calls with the token of its present run, and ends with this process.
"""

from __future__ import annotations

import itertools
import json
import os
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from evalward.client.address import Address
from evalward.client.aio import AsyncGuardClient
from evalward.client.sync import GuardClient

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from types import TracebackType

FIRST_PAUSE: Final = 0.1
LONGEST_PAUSE: Final = 5.0
STEADY_SECONDS: Final = 30.0  # after a run of this length the pause before a restart is the first one again
START_SECONDS: Final = 60.0
END_SECONDS: Final = 15.0  # longer than the server's limit on draining
_LOGS = itertools.count(1)


class SpawnError(RuntimeError):
    """The guard did not start; its messages are on stderr."""


class SpawnedGuard:
    """A child guard with its supervisor and address; ``client()`` and ``aio()`` return clients of it.

    While the child is down every call is denied at once. Close it, or use it as a context manager.
    """

    def __init__(self, command: Sequence[str], directory: tempfile.TemporaryDirectory[str]) -> None:
        self._command = [*command]
        self._directory = directory
        self._lock = threading.Lock()
        self._ending = threading.Event()
        self._changed = threading.Condition(self._lock)
        self._process: subprocess.Popen[bytes] | None = None
        self._address = Address(f"unix:{directory.name}/guard.sock")
        self._runs = 0
        self._absence: str | None = "The guard is being started."
        self._supervisor = threading.Thread(target=self._supervise, name="evalward", daemon=True)

    @property
    def address(self) -> Address:
        """The child's address, with the token of its present run."""
        return self._address

    @property
    def run(self) -> int:
        """How often the child has become ready so far."""
        return self._runs

    @property
    def pid(self) -> int | None:
        """The child's process id, None while there is none."""
        with self._lock:
            return None if self._absence or self._process is None else self._process.pid

    def absence(self) -> str | None:
        """Return why the child is unavailable, None if it is ready."""
        return self._absence

    def wait_ready(self, seconds: float, *, run: int = 1) -> bool:
        """Wait until the child is ready for at least the ``run``-th time; false after a timeout."""
        with self._changed:
            return self._changed.wait_for(lambda: self._runs >= run and self._absence is None, seconds)

    def client(self, **options: Any) -> GuardClient:
        """Return a client of the child; ``options`` are those of GuardClient."""
        return GuardClient(self, **options)

    def aio(self, **options: Any) -> AsyncGuardClient:
        """Return an asyncio client of the child; ``options`` are those of AsyncGuardClient."""
        return AsyncGuardClient(self, **options)

    def start(self) -> None:
        """Start the child and wait until it is ready; raise SpawnError when it ends first."""
        try:
            process = self._launch()
        except OSError as error:
            self._directory.cleanup()
            raise SpawnError(f"the guard cannot be started: {error.strerror}") from None
        if not self._take_up(process):
            self._directory.cleanup()
            raise SpawnError(f"the guard did not start (exit code {process.wait()})")
        self._supervisor.start()

    def close(self) -> None:
        """End the child by closing its stdin, and kill it when it does not end; a second call does nothing."""
        if self._ending.is_set():
            return
        self._ending.set()
        self._absent("The guard has been closed.")
        if self._process is not None:
            _end(self._process)
        if self._supervisor.ident is not None:
            self._supervisor.join()
        self._directory.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _launch(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(  # noqa: S603 - the command comes from the program
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # ^C in the host's terminal ends the host, which ends the guard
        )
        self._process = process
        return process

    def _take_up(self, process: subprocess.Popen[bytes]) -> bool:
        """Send ``process`` its token and wait for its ready line; false when it ends first."""
        token = secrets.token_urlsafe(32)
        if process.stdin is None or process.stdout is None:
            return False
        limit = threading.Timer(START_SECONDS, process.kill)
        limit.daemon = True
        try:
            limit.start()
        except RuntimeError:  # the system has no thread left
            _end(process)
            process.stdout.close()
            return False
        with suppress(OSError):
            process.stdin.write(token.encode() + b"\n")
            process.stdin.flush()
        is_ready = _is_ready_line(process.stdout.readline())
        limit.cancel()
        if not is_ready:
            _end(process)
            process.stdout.close()
            return False
        with self._changed:
            self._address = Address(self._address.target, token=token)
            self._runs += 1
            self._absence = "The guard has been closed." if self._ending.is_set() else None
            self._changed.notify_all()
        return True

    def _supervise(self) -> None:
        """Restart the child whenever it ends, after a growing pause, until ``close``."""
        pause = FIRST_PAUSE
        while self._process is not None and not self._ending.is_set():
            begun = time.monotonic()
            code = _outlived(self._process)
            if self._ending.is_set():
                break
            self._absent(f"The guard's process ended ({_ending(code)}) and is being started again.")
            if time.monotonic() - begun >= STEADY_SECONDS:
                pause = FIRST_PAUSE
            while not self._ending.wait(pause):
                pause = min(2 * pause, LONGEST_PAUSE)
                with suppress(OSError):
                    if self._take_up(self._launch()):
                        break
        if self._process is not None:
            _end(self._process)

    def _absent(self, why: str) -> None:
        with self._changed:
            self._absence = why
            self._changed.notify_all()


def spawn(  # noqa: PLR0913 - what there is to configure
    *,
    allow_eval: Collection[str] = (),
    policy: Path | None = None,
    manifest: Path | None = None,
    audit_log: Path | None = None,
    arguments: Sequence[str] = (),
    interpreter: str = sys.executable,
) -> SpawnedGuard:
    """Start a guard that permits evaluation in the targets ``allow_eval``, and return it when it is ready.

    ``policy`` and ``manifest`` are the files that ``evalward serve`` takes. ``audit_log`` defaults to a file of
    this process in evalward/ of XDG_STATE_HOME or ~/.local/state. ``arguments`` are further flags of
    ``evalward serve``; the variables EVALWARD_* apply to settings that are not given here.

    Raises SpawnError when the guard does not start.
    """
    directory = tempfile.TemporaryDirectory(prefix="evalward-")
    flags = [f"--allow-eval={','.join(allow_eval)}"] if allow_eval else []
    flags += [] if policy is None else [f"--policy={policy}"]
    flags += [] if manifest is None else [f"--manifest={manifest}"]
    command = [
        # -P: a package called evalward in the working directory must not replace the guard.
        *(interpreter, "-P", "-m", "evalward", "serve", "--parent"),
        *("--listen", f"unix:{directory.name}/guard.sock", "--audit-log", str(audit_log or _own_log())),
        *flags,
        *arguments,
    ]
    guard = SpawnedGuard(command, directory)
    guard.start()
    return guard


def _own_log() -> Path:
    """Return a log file that no other running process writes."""
    home = os.environ.get("XDG_STATE_HOME")
    folder = (Path(home) if home else Path.home() / ".local" / "state") / "evalward"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder / f"audit.{os.getpid()}.{next(_LOGS)}.jsonl"


def _is_ready_line(line: bytes) -> bool:
    try:
        ready = json.loads(line)
    except ValueError:
        return False
    return isinstance(ready, dict) and ready.get("type") == "ready"


def _outlived(process: subprocess.Popen[bytes]) -> int:
    """Wait for the end of ``process``, discard its output, and return its exit code."""
    if process.stdout is not None:
        with process.stdout as stdout:
            while stdout.read(4096):
                pass
    code = process.wait()
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
    return code


def _end(process: subprocess.Popen[bytes]) -> None:
    """Close the stdin of ``process`` and wait for its end; kill it after a timeout."""
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _ending(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"
