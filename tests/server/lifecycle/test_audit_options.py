"""The audit log's options on the real server: key, durability, files, and the events that are not written."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from evalward.audit import load_key
from evalward.audit.files import read_files
from evalward.audit.fingerprint import fingerprint, fnv1a
from evalward.audit.line_schema import audit_schema
from evalward.audit.verify import verify
from evalward.v1 import evalward_pb2 as pb

EVALWARD = Path(sys.executable).with_name("evalward")
ALLOWED = b"document.title"
BLOCKED = b"process['exit'](0)"

Serve = Callable[..., Any]
StubAt = Callable[[str], Any]


def request(code: bytes) -> pb.ValidateRequest:
    return pb.ValidateRequest(code=code, target=pb.TARGET_RENDERER)


def key_file(tmp_path: Path) -> Path:
    path = tmp_path / "audit.key"
    path.write_bytes(os.urandom(32))
    path.chmod(0o600)
    return path


def test_a_key_makes_the_log_tamper_evident_and_its_hashes_keyed(
    tmp_path: Path, serve: Serve, stub_at: StubAt
) -> None:
    path = key_file(tmp_path)
    process = serve(
        "--listen", "127.0.0.1:0", "--allow-eval", "--audit-key", str(path), "--audit-fnv1a32",
        "--audit-durability", "disk",
    )  # fmt: skip
    answer = stub_at(process.listen[0]).Validate(request(ALLOWED))
    process.terminate()

    key = load_key(path)
    start, decision, stop = process.log_lines()
    assert (start["integrity"], start["key_id"], start["durability"]) == ("tamper-evident", key.id, "disk")
    named = fingerprint(answer.binding.code_hash, ALLOWED, key=key)
    assert (decision["hash_alg"], decision["code_hash"]) == (named.hash_alg, named.code_hash)
    assert decision["fnv1a32"] == fnv1a(ALLOWED)
    assert stop["head"] == f"{decision['chain']}:{decision['seq']}:{decision['mac']}"
    assert verify(read_files([process.log]), key=key).fault is None


def test_without_a_key_the_start_record_says_what_the_log_does_not_promise(serve: Serve) -> None:
    start = serve("--listen", "127.0.0.1:0").log_lines()[0]
    assert start["integrity"] == "integrity only, not tamper-evident"


def test_every_record_of_a_server_fits_the_schema(serve: Serve, stub_at: StubAt) -> None:
    process = serve("--listen", "127.0.0.1:0", "--allow-eval=renderer")
    stub = stub_at(process.listen[0])
    for code in (ALLOWED, BLOCKED, b"const = 1", b"process.exit(0)"):
        stub.Validate(request(code))
    stub.Validate(pb.ValidateRequest(code=ALLOWED))
    process.terminate()
    validator = jsonschema.Draft202012Validator(audit_schema())
    assert len(process.log_lines()) == 7
    assert [error.message for line in process.log_lines() for error in validator.iter_errors(line)] == []


@pytest.mark.parametrize("mode", [0o644, 0o600], ids=["not private", "too short"])
def test_a_key_that_cannot_be_used_is_no_start(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "audit.key"
    path.write_bytes(b"short" if mode == 0o600 else b"k" * 32)
    path.chmod(mode)
    done = subprocess.run(
        [EVALWARD, "serve", "--audit-log", tmp_path / "audit.jsonl", "--audit-key", path],
        capture_output=True, text=True, check=False, timeout=30,
    )  # fmt: skip
    assert done.returncode == 3
    assert "key" in done.stderr
    assert not (tmp_path / "audit.jsonl").exists()


def test_sighup_goes_on_in_a_new_file_where_the_old_one_was_renamed(serve: Serve, stub_at: StubAt) -> None:
    process = serve("--listen", "127.0.0.1:0", "--allow-eval")
    stub = stub_at(process.listen[0])
    stub.Validate(request(ALLOWED))
    process.log.rename(process.log.with_name("audit.jsonl.1"))
    process.popen.send_signal(signal.SIGHUP)
    # The signal has arrived when the new file is there; until then a request would fail closed.
    while not process.log.exists():
        os.sched_yield()
    assert stub.Validate(request(ALLOWED)).WhichOneof("outcome") == "allowed"
    process.terminate()
    assert [line["kind"] for line in process.log_lines()] == ["rotate", "decision", "stop"]
    assert verify(read_files([process.log, process.log.with_name("audit.jsonl.1")])).fault is None


def test_files_of_a_size_are_one_chain(serve: Serve, stub_at: StubAt) -> None:
    process = serve("--listen", "127.0.0.1:0", "--allow-eval", "--audit-rotate-bytes", "2000")
    stub = stub_at(process.listen[0])
    for _ in range(10):
        assert stub.Validate(request(ALLOWED)).WhichOneof("outcome") == "allowed"
    process.terminate()
    files = [*process.log.parent.glob("audit.jsonl*")]
    assert len(files) > 2
    found = verify(read_files(files))
    assert (found.fault, found.records - len(files) + 1) == (None, 12)


def test_a_flood_of_refusals_is_one_record_a_second(serve: Serve, stub_at: StubAt) -> None:
    """Many calls and one place: calls rejected as overloaded are counted, not written one by one."""
    process = serve("--listen", "127.0.0.1:0", "--allow-eval", "--max-concurrent", "1", "--queue", "0")
    stub = stub_at(process.listen[0])
    heavy = request(b"let a = [" + b"{a: [1, 'b'].map(x => x + 1)}," * 3_000 + b"]")
    failures = [call.exception() for call in [stub.Validate.future(heavy) for _ in range(60)]]
    process.terminate()
    overloaded = sum("OVERLOADED" in str(failure) for failure in failures)
    records = [line for line in process.log_lines() if line["kind"] == "refused"]
    assert overloaded > 1
    assert sum(record["count"] for record in records) == overloaded
    assert {record["code"] for record in records} == {"OVERLOADED"}
    assert len(records) < overloaded
