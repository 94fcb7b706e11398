"""acorn's opinion of what the emitter prints, from one process of Node."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from evalward.guard.target import Shape
from evalward.sandbox.shape import program

if TYPE_CHECKING:
    from marked import Marked

ROOT = Path(__file__).parents[4]
INSTALLED = ROOT / "benchmarks" / "node_guards"
STATEMENTS = [
    "Block", "ClassDeclaration", "Declaration", "DoWhile", "ExpressionStatement", "For", "ForIn", "FunctionDeclaration",
    "If", "Jump", "Labeled", "Return", "Switch", "Throw", "Try", "While",
]  # fmt: skip


def missing() -> str | None:
    """Return why acorn cannot be asked here, or None."""
    if not shutil.which("node"):
        return "node is not installed"
    if not (INSTALLED / "node_modules" / "acorn").is_dir():
        return f"acorn is not installed: npm ci --prefix {INSTALLED.relative_to(ROOT)}"
    return None


class Acorn:
    """A process of Node that compares programs with their marks."""

    def __enter__(self) -> Self:
        command = ["node", str(Path(__file__).parent / "acorn_tree.mjs"), str(INSTALLED)]
        self._node = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._node.communicate()

    def compare(self, made: Marked, shape: Shape) -> dict[str, Any]:
        """Return ``faults`` and the types that acorn has for each kind of part, or ``error`` if it cannot parse P'."""
        opening, closing = program("\x06", shape).split("\x06")
        asked = {
            "text": f"{opening}{made.text}{closing}",
            "shift": len(opening),
            "module": shape is Shape.MODULE,
            "parts": made.parts,
            "statements": STATEMENTS,
        }
        assert self._node.stdin is not None
        assert self._node.stdout is not None
        self._node.stdin.write(json.dumps(asked) + "\n")
        self._node.stdin.flush()
        found: dict[str, Any] = json.loads(self._node.stdout.readline())
        return found
