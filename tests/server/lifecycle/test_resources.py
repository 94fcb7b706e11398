"""The resources of a server without the sandbox: service.md, "Observability and life cycle"."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc

from evalward.v1 import evalward_pb2 as pb
from evalward.v1.evalward_pb2_grpc import GuardServiceStub

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[3]
MOST_MB = 80


def resident_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) * 1024 / 1e6


def children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(each) for task in tasks for each in (task / "children").read_text(encoding="ascii").split()]


def test_no_process_takes_more_than_the_page_says(serve: Callable[..., Any]) -> None:
    process = serve("--listen", "127.0.0.1:0", "--allow-eval=renderer", "--admin-listen", "127.0.0.1:0")
    with grpc.insecure_channel(process.listen[0]) as channel:
        for number in range(50):
            asked = pb.ValidateRequest(code=f"document.title + {number}".encode(), target=pb.TARGET_RENDERER)
            assert GuardServiceStub(channel).Validate(asked, timeout=60).WhichOneof("outcome") == "allowed"
    pid = process.ready["pid"]
    sizes = {each: resident_mb(each) for each in (pid, *children(pid))}
    assert len(sizes) > 1
    assert max(sizes.values()) <= MOST_MB, sizes


def test_a_process_whose_workers_judge_does_not_hold_the_interpreter() -> None:
    listed = (
        "import sys, evalward.cli.serve; print(*(m for m in sys.modules if m.startswith('evalward.guard')))"
    )
    run = subprocess.run([sys.executable, "-c", listed], capture_output=True, text=True, check=True)
    held = run.stdout.split()
    assert "evalward.guard.rules" in held
    assert not [
        each for each in held if each.startswith(("evalward.guard.pipeline", "evalward.guard.interpret"))
    ]


def test_the_page_gives_the_bounds_that_ci_measures() -> None:
    page = (ROOT / "docs" / "explanation" / "performance.md").read_text(encoding="utf-8")
    smoke = (ROOT / "tests/image/smoke.py").read_text(encoding="utf-8")
    stage = (ROOT / ".ci/image").read_text(encoding="utf-8")
    for shown, script, written in (
        (r"start to ready \| ([\d,]+) ms", smoke, r"^READY_MS = ([\d_]+)$"),
        (r"without the sandbox \| (\d+) MB", smoke, r"^MOST_MB = (\d+)$"),
        (r"image, unpacked \| (\d+) MB", stage, r"^most_mb=(\d+)$"),
    ):
        promised, checked = re.search(shown, page), re.search(written, script, re.MULTILINE)
        assert promised
        assert checked
        assert promised[1].replace(",", "") == checked[1].replace("_", "")
