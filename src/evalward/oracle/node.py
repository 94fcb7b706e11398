"""The Node oracle: a child process that runs each payload in a fresh ``vm`` context full of traps."""

from __future__ import annotations

import json
import os
import selectors
import shutil
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from evalward.guard.target import Shape
from evalward.oracle.hits import Engine, EngineRun, Hit, read_ending
from evalward.oracle.traps import ORDINARY, Data, source, trap_config, traps_script
from evalward.sandbox.shape import CALLED_SHAPES, program

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evalward.guard.target import Target

_START_SECONDS = 10.0
_GRACE_SECONDS = 2.0
_HEAP_MEGABYTES = 256


class NodeOracle:
    """One Node process, restarted when a payload crashes it. Not for use by two threads at once.

    The child gets an empty environment and directory and, if Node supports it, no permission for files, processes or
    workers: a payload that escapes its context can do no damage.
    """

    engine = Engine.NODE

    def __init__(self, *, deadline: float = 1.0) -> None:
        self._deadline = deadline
        self._directory = tempfile.TemporaryDirectory(prefix="evalward-oracle-")
        self._child: subprocess.Popen[bytes] | None = None
        self._buffer = b""
        self._next = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @staticmethod
    def missing() -> str | None:
        """Return why this engine cannot be used here, or None."""
        return None if shutil.which("node") else "node is not installed"

    def run(
        self,
        code: str,
        target: Target,
        shape: Shape,
        *,
        bindings: Mapping[str, str] | None = None,
        data: Data = ORDINARY,
    ) -> EngineRun:
        """Run ``code`` in ``shape`` and return what it reached."""
        child = self._child or self._start()
        self._next += 1
        request = {
            "id": self._next,
            "source": program(code, shape),
            "calls": shape in CALLED_SHAPES,
            "module": shape is Shape.MODULE,
            "timeout": int(self._deadline * 1000),
            "traps": traps_script(),
            "config": trap_config(target, bindings=bindings, data=data),
        }
        assert child.stdin is not None  # noqa: S101 - Popen was given a pipe
        hits: list[Hit] = []
        try:
            child.stdin.write(json.dumps(request).encode() + b"\n")
            child.stdin.flush()
            until = time.monotonic() + 3 * self._deadline + _GRACE_SECONDS
            while True:
                message = self._read(child, until)
                if message.get("id") != self._next:
                    continue
                if "hit" in message:
                    hits.append(Hit.from_line(message["hit"]))
                elif "end" in message:
                    ending, note, record = read_ending(message["end"])
                    return EngineRun(self.engine, shape, ending, tuple(hits), note, record)
        except TimeoutError:
            self._stop()
            return EngineRun(self.engine, shape, "deadline", tuple(hits), "killed")
        except (BrokenPipeError, EOFError):
            self._stop()
            return EngineRun(self.engine, shape, "crashed", tuple(hits), "the child process exited")

    def close(self) -> None:
        """End the child and remove its directory."""
        self._stop()
        self._directory.cleanup()

    def _start(self) -> subprocess.Popen[bytes]:
        node = shutil.which("node")
        if node is None:
            raise FileNotFoundError("node is not installed")
        script = Path(self._directory.name) / "child.js"
        script.write_text(source("node_child.js"), encoding="utf-8")
        command = [
            node,
            "--no-warnings",
            "--experimental-vm-modules",
            f"--max-old-space-size={_HEAP_MEGABYTES}",
        ]
        if flag := _permission_flag(node):
            command += [flag, f"--allow-fs-read={script}"]
        child = subprocess.Popen(  # noqa: S603 - a fixed command line, no shell
            [*command, str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=self._directory.name,
            env={},
        )
        self._child, self._buffer = child, b""
        try:
            self._read(child, time.monotonic() + _START_SECONDS)
        except (EOFError, TimeoutError):
            self._stop()
            raise
        return child

    def _read(self, child: subprocess.Popen[bytes], until: float) -> dict[str, Any]:
        """Return the next message; raise TimeoutError past ``until``, EOFError when the child has exited."""
        assert child.stdout is not None  # noqa: S101 - Popen was given a pipe
        with selectors.DefaultSelector() as selector:
            selector.register(child.stdout, selectors.EVENT_READ)
            while b"\n" not in self._buffer:
                if not selector.select(max(0.0, until - time.monotonic())):
                    raise TimeoutError
                chunk = os.read(child.stdout.fileno(), 65536)
                if not chunk:
                    raise EOFError
                self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        return message

    def _stop(self) -> None:
        child, self._child = self._child, None
        if child is None:
            return
        child.kill()
        child.wait()
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except BrokenPipeError:
                    continue


@cache
def _permission_flag(node: str) -> str | None:
    """Node's permission model has had two names; an older Node has neither."""
    for flag in ("--permission", "--experimental-permission"):
        probe = subprocess.run(  # noqa: S603 - a fixed command line, no shell
            [node, flag, "--no-warnings", "--version"], capture_output=True, check=False, env={}
        )
        if probe.returncode == 0:
            return flag
    return None
