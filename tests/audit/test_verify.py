"""Every change to a log of 1,000 keyed records is found and located."""

from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import pytest
from log_lines import ALLOW, START, STOP, head_of

from evalward.audit import AuditKey, AuditLog, AuditRecord, Kind
from evalward.audit.chain import Head
from evalward.audit.files import LogFile
from evalward.audit.verification_result import Fault, Findings, KeyMissingError
from evalward.audit.verify import verify

RECORDS = 1_000
KEY = AuditKey(bytes(range(32)))
PLACES = sorted({0, 1, 2, 498, 499, 500, RECORDS - 3, RECORDS - 2})


class Log(NamedTuple):
    data: bytes
    lines: list[bytes]
    head: Head


def written(path: Path, key: AuditKey | None) -> Log:
    with AuditLog.open(path, key=key) as log:
        for _ in range(RECORDS - 1):
            log.append(ALLOW)
        log.append(STOP)
        head = log.head
    data = path.read_bytes()
    return Log(data, data.splitlines(keepends=True), head)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Log:
    return written(tmp_path_factory.mktemp("keyed") / "audit.jsonl", KEY)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Log:
    return written(tmp_path_factory.mktemp("plain") / "audit.jsonl", None)


def log_file(data: bytes) -> LogFile:
    return LogFile("audit.jsonl", BytesIO(data))


def verified(data: bytes, *expect_heads: Head) -> Findings:
    return verify([log_file(data)], key=KEY, expect_heads=expect_heads)


def found(data: bytes, *expect_heads: Head) -> tuple[Fault | None, int | None]:
    """Return the fault and the number of the line, from 0."""
    findings = verified(data, *expect_heads)
    return findings.fault, findings.place.line - 1 if findings.place is not None else None


def test_what_was_written_is_whole(log: Log) -> None:
    findings = verified(log.data, log.head)
    assert (findings.fault, findings.records, findings.head) == (None, RECORDS, log.head)
    assert findings.integrity == "tamper-evident"


@pytest.mark.exhaustive
def test_any_edited_byte_is_found_on_its_line(log: Log) -> None:
    """Positions from the first byte to the last, denser where a line ends and the next begins."""
    ends = [len(b"".join(log.lines[: number + 1])) for number in (0, 1, 499, RECORDS - 2, RECORDS - 1)]
    borders = {end + offset for end in ends for offset in range(-80, 3)}
    sampled = sorted((borders | {*range(0, len(log.data), 7919)}) & {*range(len(log.data))})
    wrong = []
    for position in sampled:
        edited = bytearray(log.data)
        edited[position] ^= 1
        fault, line = found(bytes(edited))
        if fault not in {Fault.EDITED, Fault.TRUNCATED} or line != log.data.count(b"\n", 0, position):
            wrong.append((position, fault, line))
    assert len(sampled) > 350
    assert wrong == []


@pytest.mark.parametrize("number", PLACES)
def test_a_removed_record_is_found(log: Log, number: int) -> None:
    lines = [*log.lines[:number], *log.lines[number + 1 :]]
    assert found(b"".join(lines)) == (Fault.REMOVED, number)


@pytest.mark.parametrize("number", PLACES)
def test_reordered_records_are_found(log: Log, number: int) -> None:
    lines = [*log.lines]
    lines[number], lines[number + 1] = lines[number + 1], lines[number]
    fault, place = found(b"".join(lines))
    assert place == number
    assert fault == (Fault.REORDERED if number else Fault.REMOVED)  # no earlier line shows which is first


@pytest.mark.parametrize("number", PLACES)
@pytest.mark.parametrize("what", ["copy of the line", "copy of the first", "of another log", "garbage"])
def test_an_inserted_record_is_found(log: Log, plain: Log, number: int, what: str) -> None:
    line = {
        "copy of the line": log.lines[number],
        "copy of the first": log.lines[0],
        "of another log": plain.lines[number],
        "garbage": b'{"v":2}\n',
    }[what]
    lines = [*log.lines[: number + 1], line, *log.lines[number + 1 :]]
    fault, place = found(b"".join(lines))
    assert place == number + 1
    assert fault == (Fault.UNKEYED if what == "of another log" else Fault.INSERTED)


@pytest.mark.parametrize("kept", [0, 1, 500, RECORDS - 1])
def test_a_cut_log_is_found_against_a_head_that_was_kept(log: Log, kept: int) -> None:
    data = b"".join(log.lines[:kept])
    assert (verified(data).fault is None) is (kept > 0)
    assert found(data, log.head) == (Fault.TRUNCATED, max(0, kept - 1))


@pytest.mark.parametrize("cut", [1, 2, 75, 200])
def test_a_log_cut_within_a_line_is_found(log: Log, cut: int) -> None:
    assert found(log.data[:-cut]) == (Fault.TRUNCATED, RECORDS - 1)


def test_a_head_from_the_middle_is_in_a_log_that_went_on(log: Log) -> None:
    assert verified(log.data, head_of(log.lines[300])).fault is None


def test_a_plain_chain_put_in_place_of_a_keyed_one_is_found(plain: Log) -> None:
    assert found(plain.data) == (Fault.UNKEYED, 0)


def test_a_log_under_another_key_is_not_whole(log: Log) -> None:
    other = verify([log_file(log.data)], key=AuditKey(b"o" * 32))
    assert other.fault is Fault.EDITED


def test_without_its_key_nothing_is_said_of_a_keyed_log(tmp_path: Path) -> None:
    with AuditLog.open(tmp_path / "audit.jsonl", key=KEY) as log:
        log.append(AuditRecord(kind=Kind.START, key_id=KEY.id))
    with pytest.raises(KeyMissingError, match=KEY.id):
        verify([log_file((tmp_path / "audit.jsonl").read_bytes())])


def test_without_a_key_verify_says_what_it_cannot_promise(plain: Log) -> None:
    findings = verify([log_file(plain.data)])
    assert findings.fault is None
    assert findings.integrity == "integrity only, not tamper-evident"


@pytest.mark.parametrize(
    "harm",
    [
        lambda torn: torn.replace(b"cut off", b"cut Off"),
        lambda torn: torn.replace(b"cut off", b"cut off!"),
        lambda torn: torn.replace(b"cut off\n", b""),
        lambda torn: torn.replace(b"cut off", b"cut\noff"),
    ],
)
def test_an_edited_torn_line_is_found_too(tmp_path: Path, harm: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "audit.jsonl"
    with AuditLog.open(path, key=KEY) as log:
        log.append(START)
    path.write_bytes(path.read_bytes() + b"cut off")
    with AuditLog.open(path, key=KEY) as log:
        log.append(ALLOW)
    assert verified(path.read_bytes()).torn == 1
    fault, line = found(harm(path.read_bytes()))
    assert fault is not None
    assert line == 1


def test_chains_of_several_processes_on_one_stream_are_told_apart(tmp_path: Path) -> None:
    data = b""
    for name in ("a", "b"):
        data += written_by(tmp_path / name)
    findings = verified(data)
    assert findings.fault is None
    assert len(findings.chains) == 2


def written_by(path: Path) -> bytes:
    with AuditLog.open(path, key=KEY) as log:
        log.append(START)
        log.append(ALLOW)
        log.append(STOP)
    return path.read_bytes()
