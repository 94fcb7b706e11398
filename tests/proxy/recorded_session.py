"""A real ``evalward mcp`` around a real server process, driven by raw lines."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Sequence

HERE = Path(__file__).parent
MANIFEST = HERE / "manifest.yaml"
RECORDER = HERE / "recorder.py"
SECONDS = 60.0
INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


class Session:
    """A client's end of one session: it sends raw lines and reads whole lines."""

    def __init__(self, command: Sequence[str]) -> None:
        self.process = subprocess.Popen(
            [*command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.errors: list[bytes] = []
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        self._threads = [
            threading.Thread(target=each, daemon=True) for each in (self._read, self._read_errors)
        ]
        for thread in self._threads:
            thread.start()
        self._count = 0

    def send(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def line(self) -> bytes:
        """Return the next line; b"" at the end."""
        return self._lines.get(timeout=SECONDS) or b""

    def message(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.line())
        return found

    def request(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a request and return its answer; messages before it are dropped."""
        self._count += 1
        id_ = f"t{self._count}"
        body = {"jsonrpc": "2.0", "id": id_, "method": method} | (
            {} if params is None else {"params": params}
        )
        self.send(json.dumps(body).encode() + b"\n")
        while (found := self.message()).get("id") != id_:
            pass
        return found

    def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool and return the result or error."""
        answer = self.request("tools/call", {"name": name, "arguments": arguments})
        found: dict[str, Any] = answer["result"] if "result" in answer else answer["error"]
        return found

    def begin(self) -> Self:
        self.request("initialize", INITIALIZE)
        self.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        self.request("ping")
        return self

    def end(self) -> int:
        """Close the input and return the exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        code = self.process.wait(SECONDS)
        self._close()
        return code

    def kill(self) -> None:
        """Kill the process, if it runs."""
        self.process.kill()
        self.process.wait(SECONDS)
        self._close()

    def _close(self) -> None:
        for thread in self._threads:
            thread.join(SECONDS)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()

    @property
    def stderr(self) -> str:
        return b"".join(self.errors).decode()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        self.errors.extend(self.process.stderr)


class Recorded(Session):
    """A session with ``recorder.py`` behind ``evalward mcp``; ``arrived`` are the lines that reach the server."""

    def __init__(self, folder: Path, *options: str, prefix: Sequence[str] = (), log: bool = True) -> None:
        self._record = folder / "arrived"
        self.audit_log = folder / "audit.jsonl"
        server = [sys.executable, str(RECORDER), str(self._record)]
        more = [f"--audit-log={self.audit_log}"] if log else []
        proxy = [sys.executable, "-m", "evalward", "mcp", *more, *options, "--"]
        super().__init__([*prefix, *proxy, *server])

    def arrived(self) -> list[bytes]:
        return [bytes.fromhex(line) for line in self._record.read_text().split()]

    def records(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.audit_log.read_text().splitlines()]
