"""A log of any size, with lines of any length, in any number of files is verified in bounded memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from log_lines import ALLOW
from process_chains import SECRET, Clock, chain, verified, written

from evalward.audit import AuditLog
from evalward.audit.files import read_files
from evalward.audit.verification_result import Fault

EVALWARD = Path(sys.executable).with_name("evalward")
PEAK = """
import resource, sys
from pathlib import Path
from evalward.audit.files import read_files
from evalward.audit.verify import verify

def peak(path):
    found = verify(read_files([Path(path)]))
    assert found.fault is None, found
    return found.records, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

print(*peak(sys.argv[1]), *peak(sys.argv[2]))
"""


@pytest.mark.exhaustive
def test_a_log_of_any_size_takes_the_same_memory(tmp_path: Path) -> None:
    for name, count in (("small", 400), ("large", 40_000)):
        with AuditLog.open(tmp_path / name) as log:
            for _ in range(count // 200):
                log.append(*[ALLOW] * 200)
    assert (tmp_path / "large").stat().st_size > 12 << 20

    done = subprocess.run(
        [sys.executable, "-c", PEAK, tmp_path / "small", tmp_path / "large"],
        capture_output=True,
        text=True,
        check=True,
    )

    few, small_kib, many, large_kib = map(int, done.stdout.split())
    assert (few, many) == (400, 40_000)
    assert large_kib - small_kib < 4 * 1024


def test_a_line_without_an_end_takes_no_memory_either(tmp_path: Path, clock: Clock) -> None:
    lines = chain(tmp_path, clock).lines
    (path,) = written(tmp_path, [*lines[:3], b"x" * 3_000_000, b"\n", *lines[3:]])
    found = verified([path])
    assert (found.fault, found.place) == (Fault.INSERTED, (str(path), 4))
    assert max(len(piece.data) for piece in read_files([path])[0].pieces()) < 512 * 1024


def test_more_files_than_a_process_may_usually_open_are_one_log(tmp_path: Path, clock: Clock) -> None:
    own = chain(tmp_path, clock, decisions=400)
    paths = written(tmp_path, *([line] for line in own.lines))
    (tmp_path / "audit.key").write_bytes(SECRET)
    (tmp_path / "audit.key").chmod(0o600)
    done = subprocess.run(
        [
            "sh",
            "-c",
            'ulimit -S -n 64; exec "$0" "$@"',
            str(EVALWARD),
            "audit",
            "verify",
            "--audit-key",
            "audit.key",
        ]
        + [path.name for path in sorted(paths)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.stdout.startswith("whole: 402 records in 1 chain"), done.stdout + done.stderr
