"""The detected changes of a file, and when it is reloaded."""

import errno
import os
import threading
from pathlib import Path

import pytest

from evalward.audit import AuditLog
from evalward.server.lifecycle.file_watch import FileWatch
from evalward.server.transport.token_file import TokenFile


class Taker:
    """Counts how often it is called; ``answer`` is what it says."""

    def __init__(self) -> None:
        self.calls = 0
        self.answer = True

    def __call__(self) -> bool:
        self.calls += 1
        return self.answer


@pytest.fixture
def taker() -> Taker:
    return Taker()


def followed(path: Path, taker: Taker) -> FileWatch:
    """Return a watch that has taken ``path`` as it is."""
    watch = FileWatch()
    watch.follow([path], taker)
    watch.look()
    watch.look()
    taker.calls = 0
    return watch


def test_a_file_is_taken_once_it_has_changed_and_stands_still(tmp_path: Path, taker: Taker) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text("1")
    watch = followed(file, taker)
    seen = []
    for text in ("12", "123", None, None):
        if text:
            file.write_text(text)
        watch.look()
        seen.append(taker.calls)
    assert seen == [0, 0, 1, 1]


def test_at_once_does_not_wait_and_takes_nothing_twice(tmp_path: Path, taker: Taker) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text("1")
    watch = followed(file, taker)
    file.write_text("12")
    for _ in range(3):
        watch.look(at_once=True)
    assert taker.calls == 1


def test_a_link_that_points_elsewhere_is_a_change(tmp_path: Path, taker: Taker) -> None:
    # As Kubernetes mounts a ConfigMap: the file is a link through a folder that is swapped.
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "policy.yaml").write_text("1")
    (tmp_path / "data").symlink_to("one")
    watch = followed(tmp_path / "data" / "policy.yaml", taker)
    (tmp_path / "next").symlink_to("two")
    (tmp_path / "next").rename(tmp_path / "data")
    watch.look(at_once=True)
    assert taker.calls == 1


def test_a_file_that_goes_and_comes_is_a_change_each_time(tmp_path: Path, taker: Taker) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text("1")
    watch = followed(file, taker)
    file.unlink()
    watch.look(at_once=True)
    file.write_text("1")
    watch.look(at_once=True)
    assert taker.calls == 2


def test_files_that_belong_together_are_taken_once_all_stand_still(tmp_path: Path, taker: Taker) -> None:
    files = [tmp_path / name for name in ("certificate", "key")]
    for file in files:
        file.write_text("1")
    watch = FileWatch()
    watch.follow(files, taker)
    watch.look(at_once=True)
    seen = []
    for changed in (files[0], files[1], None, None):
        if changed:
            changed.write_text("12")
        watch.look()
        seen.append(taker.calls)
    assert seen == [1, 1, 2, 2]


def test_what_was_not_dealt_with_is_tried_again(tmp_path: Path, taker: Taker) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text("1")
    watch = followed(file, taker)
    taker.answer = False
    file.write_text("12")
    for _ in range(3):
        watch.look(at_once=True)
    taker.answer = True
    for _ in range(3):
        watch.look(at_once=True)
    assert taker.calls == 4


def test_a_taker_that_raises_keeps_no_other_from_its_file(tmp_path: Path, taker: Taker) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text("1")
    watch = FileWatch()

    def raises() -> bool:
        raise RuntimeError

    watch.follow([file], raises)
    watch.follow([file], taker)
    watch.look(at_once=True)
    assert taker.calls == 1


def test_the_thread_looks_until_it_is_stopped(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text("1")
    taken = threading.Event()
    watch = FileWatch(interval=0.01)
    watch.follow([file], lambda: taken.set() or True)  # type: ignore[func-returns-value]
    watch.start()
    assert taken.wait(30)
    watch.stop()
    assert not [thread for thread in threading.enumerate() if thread.name == "watch"]


@pytest.mark.parametrize("lacks", [errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO])
def test_a_file_that_cannot_be_opened_for_now_is_tried_again_and_not_refused(
    lacks: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "tokens"
    file.touch(0o600)
    file.write_text("a-token-of-the-test")
    log = AuditLog.open(tmp_path / "audit.jsonl")
    tokens = TokenFile(file)
    watch = FileWatch()
    watch.follow([file], lambda: tokens.reload(log))
    for _ in range(2):
        watch.look()
    file.write_text("another-token-of-the-test")

    def none_left(*_args: object, **_rest: object) -> int:
        raise OSError(lacks, "none left")

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", none_left)
        for _ in range(4):
            watch.look()
    assert tokens.accepts(b"Bearer a-token-of-the-test")
    watch.look()

    assert tokens.accepts(b"Bearer another-token-of-the-test")
    log.close()
    assert "token_reject" not in log_text(tmp_path)
    assert caplog.text.count("cannot be loaded now") == 1


def log_text(folder: Path) -> str:
    return (folder / "audit.jsonl").read_text("utf-8")
