"""A guard in another process: it reads ``{"code": …}`` a line and answers ``{"allowed": …, "why": …}`` a line."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import threading
from contextlib import suppress
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, Self

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PACKAGES: Final[Mapping[str, tuple[str, ...]]] = {
    "js-x-ray": ("@nodesecure/js-x-ray",),
    "ast-guard": ("@enclave-vm/ast", "ast-guard"),
}
"""The guards from npm, and the names of their packages, newest first."""
TIMED_OUT: Final = "timed out"
ENDED: Final = "ended without an answer"
DEFAULT_SECONDS: Final = 10.0
_START_SECONDS: Final = 60.0
_LONGEST: Final = 64


class PeerUnavailableError(RuntimeError):
    """The guard cannot be started, or does not answer; the message says which one, and what it needs."""


class Peer:
    """A context manager around the process of one guard; ``judge`` asks it.

    ``seconds`` is the longest that it may take for one payload. ``package`` names what it was installed from, with the
    version; ``""`` for a command.
    """

    def __init__(
        self,
        name: str,
        command: list[str],
        folder: Path | None = None,
        *,
        package: str = "",
        seconds: float = DEFAULT_SECONDS,
    ) -> None:
        self.name = name
        self.package = package
        self._command = command
        self._folder = folder
        self._seconds = seconds
        self._process: subprocess.Popen[str] | None = None

    @classmethod
    def from_npm(cls, name: str, folder: Path, *, seconds: float = DEFAULT_SECONDS) -> Self:
        """Return a guard of ``PACKAGES`` that is installed in ``folder``'s ``node_modules``.

        Raise PeerUnavailableError without Node or the package.
        """
        node = shutil.which("node")
        if node is None:
            raise PeerUnavailableError(f"{name} needs Node")
        modules = folder / "node_modules"
        package = next((each for each in PACKAGES[name] if modules.joinpath(each).is_dir()), None)
        if package is None:
            raise PeerUnavailableError(
                f"{name} is not installed: npm install {PACKAGES[name][0]} in {folder}"
            )
        peers = files("evalward.corpus.peers")
        text = "\n".join(
            peers.joinpath(file).read_text("utf-8") for file in ("first.mjs", f"{name}.mjs", "last.mjs")
        )
        # The text of --eval resolves packages from the working directory.
        command = [node, "--input-type=module", "--eval", text, package]
        return cls(name, command, folder, package=_with_version(package, modules), seconds=seconds)

    @classmethod
    def from_command(cls, name: str, command: str, *, seconds: float = DEFAULT_SECONDS) -> Self:
        """Return the guard that ``command`` starts, quoted as for a shell."""
        return cls(name, shlex.split(command), seconds=seconds)

    def __enter__(self) -> Self:
        """Start the process; raise PeerUnavailableError."""
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        """End the process, and those that it started."""
        self._end()

    def judge(self, code: str) -> tuple[bool, str]:
        """Return whether the guard allows ``code``, and its reason; raise PeerUnavailableError for an invalid answer.

        A guard that takes too long or ends denies the payload, and is started again for the next one.
        """
        if self._process is None:
            raise PeerUnavailableError(f"{self.name} is not running")
        line, in_time = self._ask(self._process, code, self._seconds)
        if in_time and line:
            return self._read(line)
        self._end()
        self._start()
        return False, ENDED if in_time else TIMED_OUT

    def _start(self) -> None:
        try:
            self._process = process = subprocess.Popen(  # noqa: S603 - what the user of the command line names
                self._command,
                cwd=self._folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                encoding="utf-8",
                start_new_session=True,  # so that what it starts ends with it
            )
        except OSError as error:
            raise PeerUnavailableError(f"{self.name} cannot be started: {error.strerror}") from None
        # Its packages are loaded before the time of a payload begins, and one that never works is found at once.
        try:
            self._read(self._ask(process, "1", _START_SECONDS)[0])
        except PeerUnavailableError:
            self._end()
            raise

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            _kill(process)
            process.communicate()

    def _ask(self, process: subprocess.Popen[str], code: str, seconds: float) -> tuple[str, bool]:
        """Return the line that answers ``code``, or ``""``, and whether it came in time; kill the process if not."""
        if process.stdin is None or process.stdout is None:
            raise PeerUnavailableError(f"{self.name} has no pipes")
        late = threading.Event()

        def kill() -> None:
            late.set()
            _kill(process)

        # A timer, since a guard that does not read blocks the writing, too.
        timer = threading.Timer(seconds, kill)
        timer.start()
        line = ""
        try:
            with suppress(BrokenPipeError):
                process.stdin.write(json.dumps({"code": code}) + "\n")
                process.stdin.flush()
                line = process.stdout.readline()
        except ValueError:  # not UTF-8
            raise PeerUnavailableError(f"{self.name} gave no answer") from None
        finally:
            timer.cancel()
            timer.join()
        return line, not late.is_set()

    def _read(self, line: str) -> tuple[bool, str]:
        try:
            answer: dict[str, Any] = json.loads(line)
            allowed = answer["allowed"]
        except (ValueError, TypeError, KeyError):
            allowed = None
        if not isinstance(allowed, bool):
            raise PeerUnavailableError(f"{self.name} gave no answer")
        return allowed, str(answer.get("why") or "")[:_LONGEST]


def _kill(process: subprocess.Popen[str]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _with_version(package: str, modules: Path) -> str:
    try:
        document = json.loads(modules.joinpath(package, "package.json").read_text("utf-8"))
        return f"{package} {document['version']}"
    except (OSError, ValueError, TypeError, KeyError):
        return package
