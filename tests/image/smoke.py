"""Runs in the image, as its user, on a read-only root: serve, health, verdicts, one audit record each, a clean end.

``.ci/image`` feeds it to the image's own Python; it prints what it saw and raises at the first thing amiss.
"""

from __future__ import annotations

import errno
import json
import os
import subprocess
import time
from pathlib import Path

from evalward.client import GuardClient

EVALWARD = "/opt/evalward/bin/evalward"
USER = 65532


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
    begin = time.monotonic()
    with subprocess.Popen(
        [EVALWARD, "serve", "--allow-eval=renderer,sandbox"], stdout=subprocess.PIPE
    ) as server:
        try:
            assert server.stdout is not None
            (address,) = json.loads(server.stdout.readline())["listen"]
            started_ms = (time.monotonic() - begin) * 1000
            use(address)
            status = Path(f"/proc/{server.pid}/status").read_text(encoding="ascii")
            server.terminate()
            assert server.wait(30) == 0
        finally:
            server.kill()
    log = Path(os.environ["EVALWARD_AUDIT_LOG"])
    kinds = [json.loads(line)["kind"] for line in log.read_text(encoding="utf-8").splitlines()]
    assert kinds == ["start", "decision", "decision", "decision", "evaluation", "stop"], kinds
    assert log.stat().st_mode & 0o777 == 0o600
    resident = next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS"))
    figures = f"ready in {started_ms:.0f} ms, {int(resident) // 1024} MB resident with the sandbox"
    print(f"image smoke test: {figures}, all as expected")  # noqa: T201 - what the script is for


def use(address: str) -> None:
    """Ask for health, an allow, a block and a run."""
    subprocess.run([EVALWARD, "health", address], check=True, stdout=subprocess.DEVNULL)
    # On a busy machine the sandbox's engine may take longer than a caller would wait.
    with GuardClient(address, timeout=60, connect_timeout=60) as guard:
        assert guard.ready()
        assert guard.validate(b"document.title", target="renderer").allowed
        denied = guard.validate(b"process['ex' + 'it'](0)", target="renderer")
        assert denied.envelope["code"] == "EVAL_BLOCKED_CONSTRUCT", denied.envelope
        run = guard.evaluate(b"[1, 2].map(x => x * 2)")
        assert run.result_json == b"[2,4]", run.envelope


main()
