"""Drive the seed guard on acorn, which runs in one warm Node process (``seed_guard_acorn/bench.mjs``)."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from types import TracebackType

PACKAGE = Path(__file__).parent / "seed_guard_acorn"


class AcornUnavailableError(RuntimeError):
    """Node, npm or the two packages of the lock file are missing; the message says which."""


class AcornGuard:
    """A context manager around the Node process."""

    def __enter__(self) -> Self:
        """Start Node, after ``npm ci`` when the packages are not there yet; raise AcornUnavailableError."""
        node = shutil.which("node")
        if node is None:
            raise AcornUnavailableError("node is not installed")
        if not (PACKAGE / "node_modules").is_dir():
            _install()
        self._node = subprocess.Popen(
            [node, "bench.mjs"], cwd=PACKAGE, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End Node by closing its input."""
        self._node.communicate(timeout=30)

    def warm(self, code: bytes) -> bool:
        """Set the payload, run it until the JIT has settled; return whether the seed guard allows it."""
        return bool(self._ask({"code": code.decode()})["allowed"])

    def seconds(self, count: int) -> float:
        """Return the mean time of one judgement, in seconds, over ``count`` of them."""
        return float(self._ask({"count": count})["ns"]) / 1e9

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        if self._node.stdin is None or self._node.stdout is None:
            raise AcornUnavailableError("node has no pipes")
        self._node.stdin.write(json.dumps(request) + "\n")
        self._node.stdin.flush()
        answer: dict[str, Any] = json.loads(self._node.stdout.readline())
        return answer


def _install() -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise AcornUnavailableError("npm is not installed")
    done = subprocess.run(
        [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
        cwd=PACKAGE,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    if done.returncode != 0:
        raise AcornUnavailableError(f"npm ci failed with exit code {done.returncode}")
