"""A sink that is stuck, that has no reader, or that does not sync: records are late or unavailable, never lost."""

import fcntl
import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from log_lines import ALLOW, lines
from recovered_log import Health, is_whole

from evalward.audit import AuditLog, AuditUnavailable, Durability
from evalward.audit.stream_sink import StreamSink


class Pipe:
    """A log on a pipe of one page, which the test fills and reads."""

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
    """While the first sync is delayed, the records of other threads accumulate and share the second."""
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
