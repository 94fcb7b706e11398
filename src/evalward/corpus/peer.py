"""A guard in another process: it reads ``{"code": …}`` a line and answers ``{"allowed": …, "why": …}`` a line."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, Self

if TYPE_CHECKING:
    from pathlib import Path

PACKAGES: Final = {"js-x-ray": "@nodesecure/js-x-ray", "ast-guard": "ast-guard"}
"""The guards from npm, and the packages that they need."""
_LONGEST: Final = 64


class PeerUnavailableError(RuntimeError):
    """The guard cannot be started, or stopped answering; the message says which one, and what it needs."""


class Peer:
    """A context manager around the process of one guard; ``judge`` asks it."""

    def __init__(self, name: str, command: list[str], folder: Path | None = None) -> None:
        self.name = name
        self._command = command
        self._folder = folder

    @classmethod
    def from_npm(cls, name: str, folder: Path) -> Self:
        """Return a guard of ``PACKAGES`` that is installed in ``folder``'s ``node_modules``.

        Raise PeerUnavailableError without Node or the package.
        """
        node = shutil.which("node")
        package = PACKAGES[name]
        if node is None:
            raise PeerUnavailableError(f"{name} needs Node")
        if not folder.joinpath("node_modules", package).is_dir():
            raise PeerUnavailableError(f"{name} is not installed: npm install {package} in {folder}")
        peers = files("evalward.corpus.peers")
        text = "\n".join(
            peers.joinpath(file).read_text("utf-8") for file in ("first.mjs", f"{name}.mjs", "last.mjs")
        )
        # The text of --eval resolves packages from the working directory.
        return cls(name, [node, "--input-type=module", "--eval", text], folder)

    @classmethod
    def from_command(cls, name: str, command: str) -> Self:
        """Return the guard that ``command`` starts, quoted as for a shell."""
        return cls(name, shlex.split(command))

    def __enter__(self) -> Self:
        """Start the process; raise PeerUnavailableError."""
        try:
            self._process = subprocess.Popen(  # noqa: S603 - what the user of the command line names
                self._command,
                cwd=self._folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                encoding="utf-8",
            )
        except OSError as error:
            raise PeerUnavailableError(f"{self.name} cannot be started: {error.strerror}") from None
        return self

    def __exit__(self, *_: object) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()

    def judge(self, code: str) -> tuple[bool, str]:
        """Return whether the guard allows ``code``, and its reason; raise PeerUnavailableError without an answer."""
        if self._process.stdin is None or self._process.stdout is None:
            raise PeerUnavailableError(f"{self.name} has no pipes")
        try:
            self._process.stdin.write(json.dumps({"code": code}) + "\n")
            self._process.stdin.flush()
            answer: dict[str, Any] = json.loads(self._process.stdout.readline())
            allowed = answer["allowed"]
        except (OSError, ValueError, TypeError, KeyError):
            raise PeerUnavailableError(f"{self.name} gave no answer") from None
        if not isinstance(allowed, bool):
            raise PeerUnavailableError(f"{self.name} gave no answer")
        return allowed, str(answer.get("why") or "")[:_LONGEST]
