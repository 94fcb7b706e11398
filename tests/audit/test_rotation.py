"""Rotation by size, by age and by rename: one chain over all files."""

import os
from pathlib import Path

import pytest
from log_lines import ALLOW, kinds, lines

from evalward.audit import AuditKey, AuditLog, AuditUnavailable, Rotation
from evalward.audit.files import read_files
from evalward.audit.verification_result import Fault
from evalward.audit.verify import verify

KEY = AuditKey(bytes(range(32)))
SECOND = 1_000_000_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


class Clock:
    """A clock in nanoseconds that only the test advances."""

    def __init__(self) -> None:
        self.now = 1_700_000_000 * SECOND

    def __call__(self) -> int:
        self.now += 1
        return self.now


def files(path: Path) -> list[Path]:
    """Return the files of the log in the order in which they were written."""
    return [*sorted(path.parent.glob(f"{path.name}.*")), path]


def test_past_its_size_a_file_is_set_aside_and_the_chain_goes_on(path: Path) -> None:
    with AuditLog.open(path, key=KEY, rotation=Rotation(max_bytes=2_000)) as log:
        for _ in range(20):
            log.append(ALLOW)
        head = log.head
    assert len(files(path)) > 3
    assert [kinds(file)[0] for file in files(path)[1:]] == ["rotate"] * (len(files(path)) - 1)
    assert lines(path)[0]["reason"] == "size"
    found = verify(read_files(path.parent.iterdir()), key=KEY, expect_heads=[head])
    assert (found.fault, len(found.chains)) == (None, 1)
    assert {file.stat().st_mode & 0o777 for file in files(path)} == {0o600}


def test_past_its_age_a_file_is_set_aside_even_by_another_process(path: Path) -> None:
    clock = Clock()
    with AuditLog.open(path, clock=clock) as log:
        log.append(ALLOW)
    clock.now += 59 * SECOND
    rotation = Rotation(max_seconds=60)
    with AuditLog.open(path, clock=clock, rotation=rotation) as log:
        log.append(ALLOW)
        clock.now += 2 * SECOND
        log.append(ALLOW)
        log.append(ALLOW)
    assert [kinds(file) for file in files(path)] == [
        ["decision", "decision"],
        ["rotate", "decision", "decision"],
    ]
    assert lines(path)[0]["reason"] == "age"


def test_a_missing_file_of_the_middle_is_found(path: Path) -> None:
    with AuditLog.open(path, key=KEY, rotation=Rotation(max_bytes=1_000)) as log:
        for _ in range(12):
            log.append(ALLOW)
    kept = files(path)
    missing = kept.pop(2)
    found = verify(read_files(kept), key=KEY)
    assert found.fault is Fault.REMOVED
    assert found.place is not None
    assert (found.place.file, found.place.line) == (str(kept[2]), 1)
    assert missing not in kept


def test_without_the_older_files_a_log_is_whole_from_the_head_before_it(path: Path) -> None:
    with AuditLog.open(path, key=KEY) as log:
        log.append(ALLOW)
        head = log.head
        path.rename(path.with_name("old"))
        log.reopen()
        log.append(ALLOW)
    assert verify(read_files([path]), key=KEY).fault is Fault.REMOVED
    assert verify(read_files([path]), key=KEY, start_head=head).fault is None


def test_a_renamed_log_goes_on_in_a_new_file_once_it_is_told(path: Path) -> None:
    with AuditLog.open(path) as log:
        log.append(ALLOW)
        path.rename(path.with_name("audit.jsonl.1"))
        log.reopen()
        log.append(ALLOW)
    assert kinds(path) == ["rotate", "decision"]
    assert lines(path)[0]["reason"] == "reopened"
    assert verify(read_files([path, path.with_name("audit.jsonl.1")])).fault is None


def test_a_log_in_its_place_stays_as_it_is_when_told_to_reopen(path: Path) -> None:
    with AuditLog.open(path) as log:
        log.append(ALLOW)
        log.reopen()
        log.append(ALLOW)
    assert kinds(path) == ["decision", "decision"]


def test_a_rotation_that_fails_costs_no_record(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object, **_rest: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "rename", refuse)
    monkeypatch.setattr(Path, "rename", refuse)
    with AuditLog.open(path, rotation=Rotation(max_bytes=1)) as log:
        for _ in range(3):
            log.append(ALLOW)
    assert kinds(path) == ["decision"] * 3


def test_a_new_file_that_cannot_be_opened_fails_closed_and_comes_back(path: Path) -> None:
    """The directory where the new file belongs is taken by a directory of that name."""
    with AuditLog.open(path, key=KEY) as log:
        log.append(ALLOW)
        path.rename(path.with_name("old"))
        path.mkdir()
        with pytest.raises(AuditUnavailable):
            log.append(ALLOW)
        with pytest.raises(AuditUnavailable):
            log.append(ALLOW)
        path.rmdir()
        log.append(ALLOW)
    assert kinds(path) == ["gap", "decision"]
    assert verify(read_files([path.with_name("old"), path]), key=KEY).fault is None
