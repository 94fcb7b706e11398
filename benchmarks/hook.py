"""How long an agent waits for its hook: ``evalward serve --hook-listen`` and the small client.

Prints medians of rounds in which the commands alternate, in milliseconds: the start of the interpreter alone
(``python -I -S -c pass``), the client's whole run for each call, its ratio to the bare start, and the answer of the
service over a connection of this process, without a client.
"""

from __future__ import annotations

import argparse
import json
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from evalward.hook import ask

EVALWARD = Path(sys.executable).with_name("evalward")
BARE = [sys.executable, "-I", "-S", "-c", "pass"]
CALLS = {
    "click": ("browser_click", {"element": "Save", "target": "e3"}),
    "allowed": ("browser_evaluate", {"function": "() => document.title"}),
    "denied": ("browser_evaluate", {"function": "() => globalThis['ev' + 'al'](1)"}),
}


def hook_input(kind: str) -> bytes:
    """Return what Claude Code gives its hook."""
    tool, arguments = CALLS[kind]
    name = f"mcp__playwright__{tool}"
    body = {
        "session_id": "benchmark",
        "hook_event_name": "PreToolUse",
        "tool_name": name,
        "tool_input": arguments,
    }
    return json.dumps(body).encode()


def started(command: list[str], text: bytes) -> float:
    """Return the milliseconds that ``command`` takes; raise CalledProcessError when it fails."""
    begin = time.perf_counter()
    subprocess.run(command, input=text, stdout=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - begin) * 1_000


def answered(path: Path, text: bytes) -> float:
    """Return the milliseconds from the connection to the whole answer."""
    begin = time.perf_counter()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(path))
        head = f"POST /hook/claude-code HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(text)}\r\n\r\n"
        connection.sendall(head.encode() + text)
        while connection.recv(65_536):
            pass
    return (time.perf_counter() - begin) * 1_000


def measured(path: Path, rounds: int) -> dict[str, float]:
    """Return the medians."""
    client = [sys.executable, "-I", "-S", ask.__file__, "claude-code", f"unix:{path}"]
    inputs = {kind: hook_input(kind) for kind in CALLS}
    for text in inputs.values():
        for _ in range(5):
            answered(path, text)
    bare: list[float] = []
    whole: dict[str, list[float]] = {kind: [] for kind in CALLS}
    service: dict[str, list[float]] = {kind: [] for kind in CALLS}
    for _ in range(rounds):
        bare.append(started(BARE, b""))
        for kind, text in inputs.items():
            whole[kind].append(started(client, text))
            service[kind].append(answered(path, text))
    found = {"bare_start_ms": median(bare)}
    for kind in CALLS:
        found[f"client_{kind}_ms"] = median(whole[kind])
        found[f"service_{kind}_ms"] = median(service[kind])
        found[f"ratio_{kind}"] = median(whole[kind]) / median(bare)
    return {name: round(value, 2) for name, value in found.items()}


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "hook.sock"
        service = subprocess.Popen(
            [
                *(EVALWARD, "serve", "--allow-eval=renderer", "--listen", f"unix:{folder}/guard.sock"),
                *("--hook-listen", f"unix:{path}", "--audit-log", f"{folder}/audit.jsonl"),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        try:
            assert service.stdout is not None
            assert service.stdout.readline(), "the service did not start"
            found = measured(path, options.rounds)
        finally:
            service.terminate()
            service.wait()
    if options.json:
        print(json.dumps(found))
    else:
        for name, value in found.items():
            print(f"{name:22} {value:8.2f}")


if __name__ == "__main__":
    main()
