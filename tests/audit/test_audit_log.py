import json
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from log_lines import ALLOW as RECORD
from log_lines import START, lines

from evalward.audit import AuditLog, AuditSink, AuditUnavailable, Durability, NullAuditLog


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


@pytest.fixture
def log(path: Path) -> Iterator[AuditLog]:
    with AuditLog.open(path) as opened:
        yield opened


def test_each_record_is_one_line_with_its_number(log: AuditLog, path: Path) -> None:
    log.append(START)
    log.append(RECORD)
    written = lines(path)
    assert [line["seq"] for line in written] == [1, 2]
    assert [line["kind"] for line in written] == ["start", "decision"]
    assert {line["boot_id"] for line in written} == {log.boot_id}


def test_each_record_is_one_write(log: AuditLog, monkeypatch: pytest.MonkeyPatch) -> None:
    writes: list[bytes] = []
    real = os.write

    def write(descriptor: int, data: bytes) -> int:
        writes.append(data)
        return real(descriptor, data)

    monkeypatch.setattr(os, "write", write)
    log.append(RECORD)
    assert len(writes) == 1
    assert writes[0].endswith(b"\n")


def test_clock_becomes_the_timestamp(path: Path) -> None:
    with AuditLog.open(path, clock=lambda: 1_000_000_000) as log:
        log.append(RECORD)
    assert lines(path)[0]["ts"] == "1970-01-01T00:00:01.000000Z"


def test_file_is_private_whatever_the_umask_or_its_old_mode(path: Path) -> None:
    path.touch(mode=0o644)
    path.chmod(0o644)
    AuditLog.open(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.unlink()
    AuditLog.open(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_reopening_appends_with_a_boot_id_of_its_own(path: Path) -> None:
    for _ in range(2):
        with AuditLog.open(path) as log:
            log.append(START)
    written = lines(path)
    assert [line["seq"] for line in written] == [1, 2]
    assert written[0]["boot_id"] != written[1]["boot_id"]
    assert written[0]["chain"] == written[1]["chain"]
    assert written[0]["mac"] == written[1]["prev"]


def test_a_second_writer_of_one_file_is_refused(log: AuditLog, path: Path) -> None:
    with pytest.raises(AuditUnavailable, match="another process"):
        AuditLog.open(path)
    log.append(RECORD)
    assert len(lines(path)) == 1


def test_threads_share_one_sequence_without_gaps(log: AuditLog, path: Path) -> None:
    def append_fifty() -> None:
        for _ in range(50):
            log.append(RECORD)

    threads = [threading.Thread(target=append_fifty) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [line["seq"] for line in lines(path)] == list(range(1, 401))


def test_records_that_come_together_are_written_together_and_made_to_last_once(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    write, sync = os.write, os.fdatasync

    def written(descriptor: int, data: bytes) -> int:
        calls.append("write")
        return write(descriptor, data)

    def synced(descriptor: int) -> None:
        calls.append("sync")
        sync(descriptor)

    with AuditLog.open(path, durability=Durability.DISK) as log, monkeypatch.context() as patch:
        patch.setattr(os, "write", written)
        patch.setattr(os, "fdatasync", synced)
        log.append(*[replace(RECORD, decision_id=f"d{number}") for number in range(300)])
        log.append()
    assert calls == ["write", "sync"]
    assert [line["decision_id"] for line in lines(path)] == [f"d{number}" for number in range(300)]


def test_a_relative_path_survives_a_change_of_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with AuditLog.open("audit.jsonl") as log:
        monkeypatch.chdir("/")
        log.append(RECORD)
    assert len(lines(tmp_path / "audit.jsonl")) == 1


def test_a_symbolic_link_is_not_followed(tmp_path: Path, path: Path) -> None:
    victim = tmp_path / "victim"
    victim.touch()
    path.symlink_to(victim)
    with pytest.raises(AuditUnavailable):
        AuditLog.open(path)
    assert victim.read_bytes() == b""


def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", ".", "missing/audit.jsonl"):
        with pytest.raises(AuditUnavailable):
            AuditLog.open(tmp_path / name)
    with pytest.raises(AuditUnavailable, match="not a regular file"):
        AuditLog.open("/dev/null")


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_open_failures_leave_no_descriptor_behind() -> None:
    before = open_descriptors()
    for _ in range(5):
        with pytest.raises(AuditUnavailable):
            AuditLog.open("/dev/null")
    assert open_descriptors() == before


def test_a_closed_log_takes_nothing(path: Path) -> None:
    log = AuditLog.open(path)
    log.close()
    log.close()
    with pytest.raises(AuditUnavailable, match="closed"):
        log.append(RECORD)


def test_descriptor_is_not_inherited(log: AuditLog, path: Path) -> None:
    program = """
import os, sys
def is_open(fd):
    try:
        status = os.fstat(fd)
    except OSError:
        return False
    return (status.st_dev, status.st_ino) == here
there = os.stat(sys.argv[1])
here = (there.st_dev, there.st_ino)
print(any(is_open(fd) for fd in range(1024)))
"""
    with path.open("rb") as control:
        os.set_inheritable(control.fileno(), True)
        inherited = [_run(program, path)]
    inherited.append(_run(program, path))
    log.append(RECORD)
    assert inherited == ["True", "False"]


def _run(program: str, path: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)],
        capture_output=True,
        text=True,
        check=True,
        close_fds=False,
        timeout=60,
    )
    return done.stdout.strip()


def test_dash_is_stdout_and_leaves_it_open() -> None:
    program = """
from evalward.audit import AuditLog, AuditRecord, Kind
log = AuditLog.open("-")
log.append(AuditRecord(kind=Kind.START))
log.close()
print("after")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    first, second = done.stdout.splitlines()
    assert json.loads(first)["kind"] == "start"
    assert second == "after"


def test_null_log_is_a_sink_that_says_so(path: Path) -> None:
    sinks: list[AuditSink] = [NullAuditLog(), AuditLog.open(path)]
    assert [sink.audits for sink in sinks] == [False, True]
    for sink in sinks:
        sink.append(RECORD)
        sink.close()
    assert len(lines(path)) == 1
