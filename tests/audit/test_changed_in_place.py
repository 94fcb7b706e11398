"""A log that is cut, replaced, linked or no log at all: it is noticed before the next record, and left as it is."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from log_lines import ALLOW, kinds, lines
from recovered_log import Health, is_whole

from evalward.audit import AuditLog, AuditUnavailable
from evalward.audit.stream_sink import StreamSink


def cut_to_nothing(path: Path) -> None:
    os.truncate(path, 0)


def cut_to_a_record(path: Path) -> None:
    os.truncate(path, path.read_bytes().index(b"\n") + 1)


def cut_within_a_record(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 100)


def write_to(path: Path) -> None:
    with path.open("ab") as stream:
        stream.write(b'{"v":2,"seq":9}\n')


@pytest.mark.parametrize("told", [False, True], ids=["", "and SIGHUP"])
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (cut_to_nothing, "truncated"),
        (cut_to_a_record, "truncated"),
        (cut_within_a_record, "truncated"),
        (write_to, "altered"),
    ],
)
def test_a_log_that_is_changed_in_its_place_is_noticed_by_the_next_record(
    log: AuditLog, path: Path, change: Callable[[Path], None], reason: str, *, told: bool
) -> None:
    """``> audit.jsonl``, logrotate's copytruncate, an editor: the chain continues in a new file."""
    health = Health(log)
    log.append(ALLOW)
    log.append(ALLOW)
    written = path.read_bytes()
    change(path)
    changed = path.read_bytes()
    if told:
        log.reopen()
    else:
        with pytest.raises(AuditUnavailable):
            log.append(ALLOW)
    health.wait_until_back()
    log.append(ALLOW)

    gap, decision = lines(path)
    assert (gap["kind"], gap["reason"], decision["kind"]) == ("gap", reason, "decision")
    assert gap["seq"] == json.loads(written.splitlines()[-1])["seq"] + 1
    (aside,) = set(path.parent.iterdir()) - {path}
    assert aside.read_bytes() == changed
    assert not is_whole(aside, path)


TYPOS = [
    b"api_version: evalward/v1\n",
    b"[Unit]\n",
    b'{"v2":1}',
    b"\x7fELF",
    b"\n",
    bytes(100),
    b" ",
    b'{"v":"x"}',
]


@pytest.mark.parametrize("contents", TYPOS, ids=repr)
def test_a_file_that_is_no_log_is_refused_and_left_as_it_is(path: Path, contents: bytes) -> None:
    path.write_bytes(contents)
    path.chmod(0o644)
    with pytest.raises(AuditUnavailable, match="it is no audit log"):
        AuditLog.open(path)
    assert path.read_bytes() == contents
    assert path.stat().st_mode & 0o777 == 0o644
    assert [*path.parent.iterdir()] == [path]


@pytest.mark.parametrize("kept", range(1, 24))
def test_a_log_that_ends_within_its_first_line_is_one(path: Path, kept: int) -> None:
    with AuditLog.open(path) as log:
        log.append(ALLOW)
    path.write_bytes(path.read_bytes()[:kept])
    with AuditLog.open(path) as log:
        log.append(ALLOW)
    assert kinds(path)[-1] == "decision"


@pytest.mark.parametrize("contents", [b"", b'{"v":2,"seq":1,"ts":"x"}\n'], ids=["empty", "a log"])
def test_a_file_with_a_second_name_is_refused_and_left_as_it_is(path: Path, contents: bytes) -> None:
    """An attacker who may write to the folder plants a link to a file that only the service can write."""
    other = path.with_name("other")
    other.write_bytes(contents)
    other.chmod(0o640)
    path.hardlink_to(other)
    with pytest.raises(AuditUnavailable, match="hard link"):
        AuditLog.open(path)
    assert (other.read_bytes(), other.stat().st_mode & 0o777) == (contents, 0o640)


@pytest.mark.parametrize("exists", [True, False])
def test_a_symbolic_link_is_refused_and_what_it_names_is_left_as_it_is(path: Path, *, exists: bool) -> None:
    other = path.with_name("other")
    if exists:
        other.touch(0o640)
    path.symlink_to(other)
    with pytest.raises(AuditUnavailable, match="symbolic link"):
        AuditLog.open(path)
    assert other.exists() is exists


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_user_is_refused(path: Path) -> None:
    path.touch(0o600)
    os.chown(path, 65532, 65532)
    with pytest.raises(AuditUnavailable, match="another user"):
        AuditLog.open(path)


def test_a_hard_link_in_place_of_the_log_is_never_written_to(log: AuditLog, path: Path) -> None:
    health = Health(log)
    log.append(ALLOW)
    other = path.with_name("other")
    other.touch(0o600)
    path.unlink()
    path.hardlink_to(other)
    for _ in range(2):
        with pytest.raises(AuditUnavailable):
            log.append(ALLOW)
    assert other.read_bytes() == b""
    path.unlink()
    health.wait_until_back()
    log.append(ALLOW)
    assert kinds(path) == ["gap", "decision"]


@pytest.mark.parametrize("append", [True, False], ids=[">>", ">"])
def test_a_stream_that_goes_to_a_file_is_looked_at_too(path: Path, *, append: bool) -> None:
    """``evalward serve --audit-log - > file``."""
    path.touch()
    descriptor = os.open(path, os.O_WRONLY | (os.O_APPEND if append else 0))
    with AuditLog(StreamSink(descriptor)) as log:
        health = Health(log)
        log.append(ALLOW)
        os.truncate(path, 0)
        with pytest.raises(AuditUnavailable, match="cut short"):
            log.append(ALLOW)
        health.wait_until_back()
        log.append(ALLOW)
    assert b'"reason":"truncated"' in path.read_bytes()
    assert not is_whole(path)
