"""``--server``: a running service judges, by its own manifest and policy, and gets the judged fields alone."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from recorded_session import MANIFEST, SECONDS, Recorded

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAYLOAD = "() => document.title"


@contextmanager
def service(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a service at ``folder``/guard.sock."""
    serve = [
        *(sys.executable, "-m", "evalward", "serve", "--listen", f"unix:{folder / 'guard.sock'}"),
        *(f"--manifest={MANIFEST}", "--allow-eval=renderer", f"--audit-log={folder / 'service.jsonl'}"),
    ]
    with subprocess.Popen(serve, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert json.loads(running.stdout.readline())["type"] == "ready"
        yield running
        running.terminate()
        running.wait(SECONDS)


def test_it_judges_and_records(tmp_path: Path) -> None:
    with service(tmp_path) as running:
        session = Recorded(
            tmp_path, f"--server=unix:{tmp_path / 'guard.sock'}", f"--manifest={MANIFEST}", log=False
        )
        try:
            session.begin()
            assert "isError" not in session.call("evaluate", {"code": PAYLOAD, "password": "correct horse"})
            assert "EvalwardDenied" in json.loads(session.arrived()[-1])["params"]["arguments"]["code"]
            denied = session.call("evaluate", {"code": "() => eval(location.hash)"})
            assert denied["structuredContent"]["code"] == "EVAL_BLOCKED_KEYWORD"
            log = (tmp_path / "service.jsonl").read_bytes()
            assert b"correct horse" not in log
            assert [json.loads(line).get("code") for line in log.splitlines()][-2:] == [
                None,
                "EVAL_BLOCKED_KEYWORD",
            ]
            running.kill()
            running.wait(SECONDS)
            gone = session.call("evaluate", {"code": PAYLOAD})
            assert gone["structuredContent"]["code"] == "SERVICE_UNREACHABLE"
            assert "isError" not in session.call("click", {})
        finally:
            session.kill()


def test_it_has_a_policy_of_its_own() -> None:
    refused = subprocess.run(
        [sys.executable, "-m", "evalward", "mcp", "--server=unix:/x", "--allow-eval=main", "--", "true"],
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert refused.returncode == 2
    assert "of its own" in refused.stderr
