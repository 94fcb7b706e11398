"""Several files and chains: removed records, swapped files, truncated and inserted chains are found."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from log_lines import ALLOW, head_of
from process_chains import KEY, SECOND, SECRET, Clock, chain, verified, written

from evalward.audit import AuditLog, Rotation
from evalward.audit.files import read_files
from evalward.audit.verification_result import Fault

if TYPE_CHECKING:
    from evalward.audit.chain import Head

EVALWARD = Path(sys.executable).with_name("evalward")


@pytest.mark.parametrize("step", [0, 5, 100_000], ids=lambda step: f"{step}s-back")
def test_no_clock_decides_which_file_comes_first(tmp_path: Path, step: int) -> None:
    """The clock is set back while files are rotated: an NTP step, a machine that resumes."""
    clock = Clock()
    path = tmp_path / "audit.jsonl"
    with AuditLog.open(path, key=KEY, rotation=Rotation(max_bytes=900), clock=clock) as log:
        for number in range(12):
            if number % 4 == 3:
                clock.now -= step * SECOND
            log.append(ALLOW)
        head = log.head
    files = sorted(tmp_path.glob("audit.jsonl*"))
    assert len(files) > 3

    for order in itertools.islice(itertools.permutations(files), 0, None, 7):
        found = verified([*order], head)
        assert (found.fault, found.head) == (None, head), found.text


@pytest.mark.parametrize("files", ["one", "two"])
@pytest.mark.parametrize("expects", ["nothing", "the head of the other"])
def test_a_cut_chain_before_another_is_found(tmp_path: Path, clock: Clock, files: str, expects: str) -> None:
    """The records after the fourth are removed, and a chain of a restart follows."""
    first = chain(tmp_path, clock)
    second = chain(tmp_path, clock)
    cut = first.lines[:4]
    paths = written(tmp_path, cut + second.lines) if files == "one" else written(tmp_path, second.lines, cut)

    found = verified(paths, *([second.head] if expects != "nothing" else []))

    assert found.fault is Fault.UNFINISHED
    assert found.place == (str(paths[-1]), 4)
    assert second.head.chain in found.text


def test_a_cut_chain_that_was_moved_behind_the_other_is_found(tmp_path: Path, clock: Clock) -> None:
    first = chain(tmp_path, clock)
    second = chain(tmp_path, clock)
    assert verified(written(tmp_path, second.lines + first.lines[:4])).fault is Fault.UNFINISHED


def test_a_cut_chain_whose_clock_tells_nothing_is_found_once_a_head_is_expected(
    tmp_path: Path, clock: Clock
) -> None:
    """The clock was set back after the first chain, so the two chains look like those of two servers."""
    first = chain(tmp_path, clock)
    clock.now -= 8 * SECOND
    second = chain(tmp_path, clock)
    paths = written(tmp_path, first.lines[:-1], second.lines)
    assert verified(paths, second.head).fault is Fault.UNFINISHED
    assert verified(paths, second.head, first.head).fault is Fault.TRUNCATED


def test_a_process_that_was_killed_is_told_from_a_cut_by_its_kept_head(tmp_path: Path, clock: Clock) -> None:
    killed = chain(tmp_path, clock, stops=False)
    restarted = chain(tmp_path, clock, stops=False)
    paths = written(tmp_path, killed.lines + restarted.lines)
    assert verified(paths).fault is Fault.UNFINISHED
    assert verified(paths, killed.head).fault is None
    assert verified(paths, killed.head, restarted.head).fault is None
    # A head that was kept before the end does not prove the end.
    assert verified(paths, head_of(killed.lines[2])).fault is Fault.UNFINISHED


def test_chains_that_were_ended_are_whole_in_one_file_and_in_several(tmp_path: Path, clock: Clock) -> None:
    stopped = [chain(tmp_path, clock) for _ in range(3)]
    running = chain(tmp_path, clock, stops=False)
    lines = [each.lines for each in (*stopped, running)]
    together = verified(written(tmp_path, [*itertools.chain(*lines)]))
    assert (together.fault, len(together.chains)) == (None, 4)
    for order in itertools.permutations(written(tmp_path, *lines)):
        assert verified([*order]).fault is None


def test_servers_that_ran_at_the_same_time_are_told_from_one_that_followed(
    tmp_path: Path, clock: Clock
) -> None:
    began = clock.now
    first = chain(tmp_path, clock, stops=False)
    clock.now = began
    second = chain(tmp_path, clock, stops=False)
    paths = written(tmp_path, first.lines, second.lines)
    assert verified(paths).fault is None
    assert verified(paths, first.head, second.head).fault is None
    assert verified(paths, second.head).fault is Fault.UNFINISHED


@pytest.mark.parametrize("where", ["in the middle", "in a file between"])
def test_a_chain_of_another_server_under_the_same_key_cannot_stand_inside(
    tmp_path: Path, clock: Clock, where: str
) -> None:
    own = chain(tmp_path, clock)
    other = chain(tmp_path, clock)
    if where == "in the middle":
        paths = written(tmp_path, own.lines[:3] + other.lines + own.lines[3:])
        assert verified(paths).fault is Fault.INSERTED
    else:
        # In a separate file it removes nothing, and is counted as a chain.
        found = verified(written(tmp_path, own.lines[:3], other.lines, own.lines[3:]))
        assert (found.fault, len(found.chains)) == (None, 2)


@pytest.mark.parametrize("swapped", [0, 1, 2])
def test_a_file_in_place_of_another_is_found(tmp_path: Path, clock: Clock, swapped: int) -> None:
    own = chain(tmp_path, clock, decisions=7)
    other = chain(tmp_path, clock, decisions=7)
    parts = [own.lines[:3], own.lines[3:6], own.lines[6:]]
    parts[swapped] = [other.lines[:3], other.lines[3:6], other.lines[6:]][swapped]
    assert verified(written(tmp_path, *parts), own.head).fault is not None
    assert verified(written(tmp_path, *parts), other.head).fault is not None


def test_a_file_that_is_missing_is_found_in_any_order(tmp_path: Path, clock: Clock) -> None:
    own = chain(tmp_path, clock, decisions=7)
    paths = written(tmp_path, own.lines[6:], own.lines[:3])
    found = verified(paths)
    assert (found.fault, found.place) == (Fault.REMOVED, (str(paths[0]), 1))


def test_a_copy_of_a_file_is_found_and_a_second_name_of_it_is_not_one(tmp_path: Path, clock: Clock) -> None:
    (path, copy) = written(tmp_path, *[chain(tmp_path, clock).lines] * 2)
    assert verified([path, path]).fault is None
    assert verified([path, copy]).fault is Fault.INSERTED


def test_an_empty_file_is_not_whole(tmp_path: Path, clock: Clock) -> None:
    lines = chain(tmp_path, clock).lines
    (empty,) = written(tmp_path, [])
    assert verified([empty]).fault is Fault.TRUNCATED
    assert verified([]).fault is Fault.TRUNCATED
    paths = written(tmp_path, lines, [])
    found = verified(paths)
    assert (found.fault, found.place) == (Fault.TRUNCATED, (str(paths[1]), 1))


def test_the_command_says_so_of_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "audit.jsonl").touch()
    done = subprocess.run(
        [EVALWARD, "audit", "verify", "audit.jsonl"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 1
    assert done.stdout.startswith("audit.jsonl:1: truncated: the file is empty")


@pytest.mark.exhaustive
def test_the_command_takes_several_heads(tmp_path: Path, clock: Clock) -> None:
    (tmp_path / "audit.key").write_bytes(SECRET)
    (tmp_path / "audit.key").chmod(0o600)
    killed = chain(tmp_path, clock, stops=False)
    restarted = chain(tmp_path, clock, stops=False)
    written(tmp_path, killed.lines + restarted.lines)
    command = [str(EVALWARD), "audit", "verify", "log-0", "--audit-key", "audit.key"]

    def run(*heads: Head) -> int:
        asked = [argument for head in heads for argument in ("--expect-head", str(head))]
        return subprocess.run([*command, *asked], capture_output=True, check=False, cwd=tmp_path).returncode

    assert run(restarted.head) == 1
    assert run(killed.head, restarted.head) == 0


def test_a_log_may_come_through_a_pipe(tmp_path: Path, clock: Clock) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    data = b"".join(chain(tmp_path, clock).lines)
    writer = threading.Thread(target=pipe.write_bytes, args=(data,))
    writer.start()
    found = verified([pipe])
    writer.join()
    assert (found.fault, found.records) == (None, 7)


def test_files_that_somebody_put_together_in_a_circle_are_still_read(tmp_path: Path, clock: Clock) -> None:
    one, two = chain(tmp_path, clock), chain(tmp_path, clock)
    paths = written(tmp_path, one.lines[4:] + two.lines[:3], two.lines[3:] + one.lines[:4])
    assert len(read_files(paths)) == 2
    assert verified(paths).fault is not None
