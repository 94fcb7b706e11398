"""Drive a guard that is written in JavaScript, each in one warm Node process (``node_guards/bench.mjs``)."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from types import TracebackType

PACKAGE = Path(__file__).parent / "node_guards"
NODE_GUARDS = ("acorn", "js-x-ray")
"""``acorn`` is the seed guard on that parser, ``js-x-ray`` is the package as it comes."""


class NodeUnavailableError(RuntimeError):
    """Node, npm or the packages of the lock file are missing; the message names them."""


class NodeGuard:
    """A context manager around the Node process of one of NODE_GUARDS."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> Self:
        """Start Node, after ``npm ci`` if the packages are missing; raise NodeUnavailableError."""
        node = shutil.which("node")
        if node is None:
            raise NodeUnavailableError("node is not installed")
        if not (PACKAGE / "node_modules").is_dir():
            _install()
        self._node = subprocess.Popen(
            [node, "bench.mjs", self._name],
            cwd=PACKAGE,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End Node by closing its input."""
        self._node.communicate(timeout=30)

    def warm(self, code: bytes) -> bool:
        """Set the payload, run it until the JIT has settled; return whether the guard allows it."""
        return bool(self._ask({"code": code.decode()})["allowed"])

    def seconds(self, count: int) -> float:
        """Return the mean time of one judgement, in seconds, over ``count`` of them."""
        return float(self._ask({"count": count})["ns"]) / 1e9

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        if self._node.stdin is None or self._node.stdout is None:
            raise NodeUnavailableError("node has no pipes")
        self._node.stdin.write(json.dumps(request) + "\n")
        self._node.stdin.flush()
        answer: dict[str, Any] = json.loads(self._node.stdout.readline())
        return answer


def _install() -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise NodeUnavailableError("npm is not installed")
    done = subprocess.run(
        [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
        cwd=PACKAGE,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    if done.returncode != 0:
        raise NodeUnavailableError(f"npm ci failed with exit code {done.returncode}")
