"""The audit log when its sink fails, and its recovery: real files, pipes and limits."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from log_lines import ALLOW, kinds, lines
from recovered_log import Health, is_whole

from evalward.audit import AuditKey, AuditLog, AuditUnavailable
from evalward.audit.files import read_files
from evalward.audit.verify import verify
from evalward.errors import Code


@pytest.mark.parametrize("torn", [b'{"v":2,"seq":9', b"x", b"y" * 60_000], ids=len)
def test_a_torn_last_line_is_closed_recorded_and_part_of_the_chain(path: Path, torn: bytes) -> None:
    with AuditLog.open(path) as log:
        log.append(ALLOW)
    before = path.read_bytes()
    path.write_bytes(before + torn)
    with AuditLog.open(path) as log:
        log.append(ALLOW)
    assert path.read_bytes().startswith(before + torn + b"\n")
    assert kinds(path) == ["decision", "-", "torn", "decision"]
    record = json.loads(path.read_bytes().splitlines()[2])
    assert record["torn_bytes"] == len(torn)
    assert is_whole(path)


def test_what_is_no_log_of_this_service_is_set_aside_and_named(
    path: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    contents = b'{"v":1,"seq":1,"kind":"start"}\n'
    path.write_bytes(contents)
    with AuditLog.open(path) as log:
        assert log.terms is not None
        assert log.terms.reset == "unverified"
        log.append(ALLOW)
    (aside,) = set(tmp_path.iterdir()) - {path}
    assert caplog.messages == [f"the audit log is set aside as {aside}: unverified"]
    assert aside.read_bytes() == contents
    assert lines(path)[0]["seq"] == 1


def test_a_log_under_another_key_is_set_aside(path: Path, tmp_path: Path, key: AuditKey) -> None:
    with AuditLog.open(path) as log:
        log.append(ALLOW)
    with AuditLog.open(path, key=key) as log:
        assert log.terms is not None
        assert log.terms.reset == "other-key"
        log.append(ALLOW)
    (aside,) = set(tmp_path.iterdir()) - {path}
    assert is_whole(aside)
    assert verify(read_files([path]), key=key).fault is None


def test_an_edited_last_line_is_never_gone_on_from(path: Path, tmp_path: Path, key: AuditKey) -> None:
    with AuditLog.open(path, key=key) as log:
        log.append(ALLOW)
        log.append(ALLOW)
    path.write_bytes(path.read_bytes().replace(b'"seq":2', b'"seq":3'))
    with AuditLog.open(path, key=key) as log:
        log.append(ALLOW)
    assert len(list(tmp_path.iterdir())) == 2
    assert [line["seq"] for line in lines(path)] == [1]


@pytest.mark.parametrize("kept", [0, 1, 20], ids=["nothing", "a byte", "a part"])
def test_a_short_write_fails_and_is_closed_by_what_follows(
    log: AuditLog, path: Path, monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    real = os.write
    log.append(ALLOW)
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda fd, data: real(fd, data[:kept]))
        with pytest.raises(AuditUnavailable, match="cut short"):
            log.append(ALLOW)
        with pytest.raises(AuditUnavailable, match="cut short"):
            log.append(ALLOW)
    log.append(ALLOW)
    gap = json.loads(path.read_bytes().splitlines()[-2])
    assert (gap["kind"], gap["unrecorded"], gap["reason"]) == ("gap", 2, "full")
    assert is_whole(path)


def test_a_write_that_is_cut_again_and_again_leaves_a_whole_log(
    log: AuditLog, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For any number of bytes that the sink accepts at a time, the chain continues after the last whole record."""
    real = os.write
    log.append(ALLOW)
    for kept in (1, 7, 300, 520, 700, 3, 1000, 350, 5_000):
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", lambda fd, data, kept=kept: real(fd, data[:kept]))
            try:
                log.append(ALLOW)
            except AuditUnavailable:
                continue
    log.append(ALLOW)
    assert is_whole(path)


def test_a_full_disk_is_survived_when_there_is_room_again(path: Path) -> None:
    """RLIMIT_FSIZE makes the kernel shorten a write, then reject the next one."""
    program = """
import resource, signal, sys
from evalward.audit import AuditLog, AuditRecord, AuditUnavailable, Kind, Outcome
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
record = AuditRecord(kind=Kind.DECISION, outcome=Outcome.ALLOW)
log = AuditLog.open(sys.argv[1])
log.append(record)
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (500, hard))
for _ in range(3):
    try:
        log.append(record)
    except AuditUnavailable as error:
        print(error.message)
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
log.append(record)
log.close()
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True, timeout=60
    )
    failures = done.stdout.splitlines()
    assert len(failures) == 3
    assert "cut short" in failures[0]
    assert "file too large" in failures[1]
    assert kinds(path) == ["decision", "-", "torn", "gap", "decision"]
    assert is_whole(path)


def delete(path: Path) -> None:
    path.unlink()


def replace(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(b"not a log\n")
    other.replace(path)


def replace_by_empty(path: Path) -> None:
    path.unlink()
    path.touch()


def make_read_only(path: Path) -> None:
    path.chmod(0o400)


@pytest.mark.parametrize(
    ("harm", "reason"),
    [
        (delete, "deleted"),
        (replace, "replaced"),
        (replace_by_empty, "replaced"),
        (make_read_only, "read-only"),
    ],
)
def test_a_harmed_file_fails_the_next_record_and_is_then_recovered(
    log: AuditLog, path: Path, harm: Callable[[Path], None], reason: str
) -> None:
    health = Health(log)
    log.append(ALLOW)
    held = log.head
    harm(path)

    with pytest.raises(AuditUnavailable) as caught:
        log.append(ALLOW)
    assert caught.value.code is Code.AUDIT_UNAVAILABLE
    assert health.said[0] is False
    if harm is make_read_only:
        assert log.failure is not None
        path.chmod(0o600)
    health.wait_until_back()
    log.append(ALLOW)

    assert log.failure is None
    gap, record = lines(path)[-2:]
    assert (gap["kind"], gap["reason"], gap["unrecorded"]) == ("gap", reason, 1)
    assert gap["prev"] == held.mac
    assert record["seq"] == held.seq + 2


def test_a_file_that_was_put_in_place_of_the_log_is_set_aside(
    log: AuditLog, path: Path, tmp_path: Path
) -> None:
    log.append(ALLOW)
    replace(path)
    with pytest.raises(AuditUnavailable, match="replaced"):
        log.append(ALLOW)
    log.append(ALLOW)
    (aside,) = set(tmp_path.iterdir()) - {path}
    assert aside.read_bytes() == b"not a log\n"


def test_a_copy_of_the_log_in_its_place_is_gone_on_with(log: AuditLog, path: Path) -> None:
    log.append(ALLOW)
    copy = path.with_name("copy")
    copy.write_bytes(path.read_bytes())
    copy.replace(path)
    with pytest.raises(AuditUnavailable, match="replaced"):
        log.append(ALLOW)
    log.append(ALLOW)
    assert kinds(path) == ["decision", "gap", "decision"]
    assert is_whole(path)
