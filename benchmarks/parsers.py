"""Whether V8, QuickJS and acorn accept a program. Nothing of it runs."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Self

from evalward.guard.target import Shape
from evalward.sandbox.engine import Engine as WasmEngine
from evalward.sandbox.shape import program

if TYPE_CHECKING:
    from types import TracebackType

_NODE_PARSERS = Path(__file__).parent / "node_guards" / "parses.mjs"
# The guest has no parser that runs nothing but this one, which takes a script as the body of a function.
_QUICKJS_PARSER = """(() => {
  let said = '';
  const parse = (text) => {
    try { new Function(text); said = 'parsed'; } catch (error) { said = String(error.message); }
  };
  return [parse, () => said];
})()"""
_FUEL = 2_000_000_000
_MEMORY = 128 << 20
_SECONDS = 10.0


class Parsers:
    """A process of Node with V8 and acorn, and QuickJS as the sandbox has it; for use by many threads."""

    def __init__(self) -> None:
        node = shutil.which("node")
        self.absent: set[str] = set()
        self._lock = Lock()
        self._quickjs = WasmEngine(_QUICKJS_PARSER)
        self._node: subprocess.Popen[str] | None = None
        if node is None:
            self.absent |= {"v8", "acorn"}
            return
        command = [node, "--no-warnings", "--experimental-vm-modules", str(_NODE_PARSERS)]
        self._node = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if self._node is not None:
            self._node.kill()
            self._node.wait()

    def rejecting(self, code: str, shape: Shape) -> dict[str, str]:
        """Return what rejects ``code`` in ``shape``, and with which message."""
        text = program(code, shape)
        said = self._in_node(text, is_module=shape is Shape.MODULE)
        if shape is not Shape.MODULE:
            said["quickjs"] = self._in_quickjs(text)
        return {parser: message for parser, message in said.items() if message}

    def _in_node(self, text: str, *, is_module: bool) -> dict[str, str]:
        if self._node is None:
            return {}
        assert self._node.stdin is not None
        assert self._node.stdout is not None
        with self._lock:
            self._node.stdin.write(json.dumps({"text": text, "module": is_module}) + "\n")
            self._node.stdin.flush()
            said: dict[str, str | None] = json.loads(self._node.stdout.readline())
            self.absent |= {parser for parser, message in said.items() if message is None}
        return {parser: message for parser, message in said.items() if message is not None}

    def _in_quickjs(self, text: str) -> str:
        run = self._quickjs.run(text.encode(), fuel=_FUEL, deadline=_SECONDS, memory=_MEMORY, output=4096)
        if run.trap is not None:
            return run.trap.name.lower()
        said = run.output.decode(errors="replace") or f"status {run.status}"
        return "" if said == "parsed" else said
