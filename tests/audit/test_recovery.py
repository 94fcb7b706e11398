"""The audit log when its sink fails, and its recovery: real files, pipes and limits."""

import fcntl
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from log_lines import ALLOW, kinds, lines

from evalward.audit import AuditKey, AuditLog, AuditUnavailable, Durability
from evalward.audit.files import read_files
from evalward.audit.stream_sink import StreamSink
from evalward.audit.verify import verify
from evalward.errors import Code


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


@pytest.fixture
def key() -> AuditKey:
    return AuditKey(bytes(range(32)))


@pytest.fixture
def log(path: Path) -> Iterator[AuditLog]:
    with AuditLog.open(path) as opened:
        yield opened


class Health:
    """The reports of a log about its sink, and a way to wait for the next."""

    def __init__(self, log: AuditLog) -> None:
        self.said: list[bool] = []
        self._changed = threading.Condition()
        log.watch(self._hear)

    def _hear(self, is_healthy: bool) -> None:  # noqa: FBT001 - the signature is the log's
        with self._changed:
            self.said.append(is_healthy)
            self._changed.notify_all()

    def wait_until_back(self) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: self.said[-1:] == [True], timeout=30)


def is_whole(*paths: Path) -> bool:
    return verify(read_files(paths)).fault is None


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
    """RLIMIT_FSIZE makes the kernel itself cut a write short, then refuse the next one."""
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


class Pipe:
    """A log on a pipe of one page, which a test fills and empties."""

    def __init__(self, patience: float) -> None:
        self.reader, self.writer = os.pipe()
        self.size = 4096
        fcntl.fcntl(self.writer, fcntl.F_SETPIPE_SZ, self.size)
        self.log = AuditLog(StreamSink(self.writer), patience=patience)

    def fill(self) -> None:
        os.write(self.writer, b"#" * (self.size - 1) + b"\n")

    def read(self) -> bytes:
        """Read all available bytes until the log writes no more."""
        os.set_blocking(self.reader, False)
        data = b""
        while True:
            try:
                data += os.read(self.reader, 65536)
            except BlockingIOError:
                return data


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    made = Pipe(patience=0.3)
    yield made
    os.close(made.reader)
    made.log.close()


def test_a_sink_that_is_stuck_gives_up_in_time_and_comes_back(pipe: Pipe) -> None:
    health = Health(pipe.log)
    pipe.fill()

    with pytest.raises(AuditUnavailable, match="in time"):
        pipe.log.append(ALLOW)
    with pytest.raises(AuditUnavailable, match="stuck"):
        pipe.log.append(ALLOW)
    assert health.said == [False]
    data = pipe.read()
    health.wait_until_back()
    pipe.log.append(ALLOW)

    records = [json.loads(line) for line in (data + pipe.read()).splitlines() if line.startswith(b"{")]
    assert [record["kind"] for record in records] == ["decision", "gap", "decision"]
    assert (records[1]["unacknowledged"], records[1]["unrecorded"]) == (1, 1)
    assert records[1]["reason"] == "stuck"


def test_a_caller_with_less_time_waits_no_longer_than_that(pipe: Pipe) -> None:
    pipe.fill()
    with pytest.raises(AuditUnavailable, match="in time"):
        pipe.log.append(ALLOW, patience=0)
    pipe.read()


def test_a_stdout_that_nobody_reads_any_more_is_unavailable() -> None:
    reader, writer = os.pipe()
    log = AuditLog(StreamSink(writer))
    os.close(reader)
    with pytest.raises(AuditUnavailable, match="broken pipe"):
        log.append(ALLOW)
    log.close()


def test_records_after_a_failed_sync_are_not_acknowledged(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    with AuditLog.open(path, durability=Durability.DISK) as log:
        log.append(ALLOW)
        with monkeypatch.context() as patch:
            patch.setattr(os, "fdatasync", fail)
            with pytest.raises(AuditUnavailable, match="input/output error"):
                log.append(ALLOW)
        log.append(ALLOW)
    gap = lines(path)[2]
    assert (gap["kind"], gap["unacknowledged"], gap["unrecorded"]) == ("gap", 1, 0)
    assert is_whole(path)


def test_each_record_is_synced_before_it_is_acknowledged(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def noted(name: str, real: Callable[..., int | None]) -> Callable[..., int | None]:
        def call(*args: object) -> int | None:
            calls.append(name)
            return real(*args)

        return call

    monkeypatch.setattr(os, "write", noted("write", os.write))
    monkeypatch.setattr(os, "fdatasync", noted("sync", os.fdatasync))
    with AuditLog.open(path, durability=Durability.DISK) as log:
        log.append(ALLOW)
        calls.append("acknowledged")
    assert calls == ["write", "sync", "acknowledged"]


def test_one_sync_serves_all_that_wait(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the first sync is held back, the records of other threads gather, and share the second."""
    entered, leave, syncs = threading.Event(), threading.Event(), []
    sync = os.fdatasync

    def slow(descriptor: int) -> None:
        syncs.append(descriptor)
        entered.set()
        assert leave.wait(30)
        sync(descriptor)

    with AuditLog.open(path, durability=Durability.DISK, patience=30) as log:
        monkeypatch.setattr(os, "fdatasync", slow)
        threads = [threading.Thread(target=log.append, args=(ALLOW,)) for _ in range(33)]
        threads[0].start()
        assert entered.wait(30)
        for thread in threads[1:]:
            thread.start()
        while log._writer._waiting.qsize() < 32:  # noqa: SLF001 - nothing public tells that they wait
            os.sched_yield()
        leave.set()
        for thread in threads:
            thread.join()
    assert len(syncs) == 2
    assert len(lines(path)) == 33


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
