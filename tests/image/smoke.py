"""Runs in the image, as its user, on a read-only root: serve, health, verdicts, one audit record each, a clean end.

``.ci/image`` feeds it to the image's own Python; it prints what it saw and raises at the first thing amiss. Of the
three figures that docs/explanation/performance.md promises it measures two. The time is only printed, since it also
depends on the machine.
"""

from __future__ import annotations

import errno
import json
import os
import statistics
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from evalward.client import GuardClient

if TYPE_CHECKING:
    from collections.abc import Iterator

EVALWARD = "/opt/evalward/bin/evalward"
USER = 65532
STARTS = 3
READY_MS = 1_000
MOST_MB = 80


def main() -> None:
    """Start the service as the image would, and use it."""
    assert os.getuid() == os.getgid() == USER
    for place in ("/probe", "/opt/evalward/probe", "/etc/probe"):
        try:
            Path(place).write_bytes(b"")
        except OSError as refusal:
            seen = refusal.errno
        else:
            seen = None
        assert seen in (errno.EROFS, errno.EACCES), f"{place}: {seen}"
    for place in ("/bin/sh", "/usr/bin/apt", "/usr/bin/perl"):
        assert not Path(place).exists(), place
    starts = []
    for _ in range(STARTS):
        with served("--allow-eval=renderer") as (server, address, ready_ms):
            starts.append(ready_ms)
            judge(address)
            sizes = {pid: resident_mb(pid) for pid in (server.pid, *children(server.pid))}
    assert len(sizes) > 1, "no worker"
    assert max(sizes.values()) <= MOST_MB, f"{sizes} MB, at most {MOST_MB} a process"
    log = Path(os.environ["EVALWARD_AUDIT_LOG"])
    before = len(kinds(log))
    with served("--allow-eval=renderer,sandbox") as (server, address, _):
        judge(address)
        run(address)
        sandbox_mb = resident_mb(server.pid)
    assert kinds(log)[before:] == ["start", "decision", "decision", "decision", "evaluation", "stop"], kinds(
        log
    )
    assert log.stat().st_mode & 0o777 == 0o600
    begin = f"ready in {statistics.median(starts):.0f} ms (docs/explanation/performance.md says at most {READY_MS})"
    size = f"{max(sizes.values())} MB resident a process (at most {MOST_MB}), {sandbox_mb} with the sandbox"
    print(f"image smoke test: {begin}, {size}, all as expected")  # noqa: T201 - the script's output


@contextmanager
def served(*flags: str) -> Iterator[tuple[subprocess.Popen[bytes], str, float]]:
    """Run the service as the image would; give its address, and the milliseconds until it was ready."""
    begin = time.monotonic()
    with subprocess.Popen([EVALWARD, "serve", *flags], stdout=subprocess.PIPE) as server:
        try:
            assert server.stdout is not None
            (address,) = json.loads(server.stdout.readline())["listen"]
            yield server, address, (time.monotonic() - begin) * 1000
            server.terminate()
            assert server.wait(30) == 0
        finally:
            server.kill()


def kinds(log: Path) -> list[str]:
    """Return the kind of every record."""
    return [json.loads(line)["kind"] for line in log.read_text(encoding="utf-8").splitlines()]


def children(pid: int) -> list[int]:
    """Return the processes that ``pid`` has started."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(each) for task in tasks for each in (task / "children").read_text(encoding="ascii").split()]


def resident_mb(pid: int) -> int:
    """Return the resident memory of one process, in MB."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return (
        next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmRSS")) // 10**6
    )


def judge(address: str) -> None:
    """Ask for health, an allow and a block."""
    subprocess.run([EVALWARD, "health", address], check=True, stdout=subprocess.DEVNULL)
    with GuardClient(address, timeout=60, connect_timeout=60) as guard:
        assert guard.ready()
        assert guard.validate(b"document.title", target="renderer").allowed
        denied = guard.validate(b"process['ex' + 'it'](0)", target="renderer")
        assert denied.envelope["code"] == "EVAL_BLOCKED_CONSTRUCT", denied.envelope


def run(address: str) -> None:
    """Have a payload run."""
    # On a busy machine the sandbox's engine may take longer than a caller would wait.
    with GuardClient(address, timeout=60, connect_timeout=60) as guard:
        ran = guard.evaluate(b"[1, 2].map(x => x * 2)")
        assert ran.result_json == b"[2,4]", ran.envelope


main()
