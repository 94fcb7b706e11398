"""``evalward audit`` on written logs."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import command_line
import pytest

from evalward.audit import AuditKey, AuditLog, AuditRecord, Kind, Outcome, Rotation
from evalward.audit.line_schema import audit_schema
from evalward.audit.read import matching, records, since, summary
from evalward.errors import Code
from evalward.guard.target import Target

EVALWARD = Path(sys.executable).with_name("evalward")
SECRET = bytes(range(32))
NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run ``evalward audit`` in the folder of a keyed log of several files."""
    key = tmp_path / "audit.key"
    key.write_bytes(SECRET)
    key.chmod(0o600)
    path = tmp_path / "audit.jsonl"
    with AuditLog.open(path, key=AuditKey(SECRET), rotation=Rotation(max_bytes=1_500)) as log:
        log.append(AuditRecord(kind=Kind.START, version="0.1.0", key_id=AuditKey(SECRET).id))
        for number in range(6):
            log.append(decision(number))
        log.append(AuditRecord(kind=Kind.REFUSED, code=Code.OVERLOADED, count=7))

    monkeypatch.chdir(tmp_path)
    return partial(command_line.run, "audit")


def decided(number: int) -> str:
    return f"{number:032x}"


def decision(number: int) -> AuditRecord:
    """Return an allow for an even number, a block for an odd one."""
    blocked = number % 2
    return AuditRecord(
        kind=Kind.DECISION,
        decision_id=decided(number),
        outcome=Outcome.DENY if blocked else Outcome.ALLOW,
        code=Code.EVAL_BLOCKED_CONSTRUCT if blocked else None,
        construct="process.exit" if blocked else None,
        target=Target.MAIN,
        tool="electron_eval",
        shadow=("with",),
        session="s1",
    )


def log_files(folder: Path) -> list[str]:
    """Return the files in the order of a shell: the newest first, then the others by age."""
    return sorted(str(path) for path in folder.glob("audit.jsonl*"))


def printed(done: "subprocess.CompletedProcess[str]") -> list[Any]:
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_verify_of_all_files_says_whole_and_the_head_that_head_prints(run: Run, tmp_path: Path) -> None:
    files = log_files(tmp_path)
    assert len(files) > 2
    head = run("head", *files).stdout.strip()
    done = run("verify", *files, "--audit-key", "audit.key", "--expect-head", head)
    assert done.returncode == 0
    assert "tamper-evident" in done.stdout
    assert "integrity only" not in done.stdout
    assert head in done.stdout


def test_verify_names_the_first_bad_line(run: Run, tmp_path: Path) -> None:
    files = log_files(tmp_path)
    edited = Path(files[1])
    edited.write_bytes(edited.read_bytes().replace(decided(1).encode(), decided(9).encode()))
    line = next(n for n, text in enumerate(edited.read_text().splitlines(), 1) if decided(9) in text)
    done = run("verify", *files, "--audit-key", "audit.key")
    assert done.returncode == 1
    assert done.stdout.startswith(f"{edited}:{line}: edited: ")


def test_verify_of_a_cut_log_with_a_kept_head_fails(run: Run, tmp_path: Path) -> None:
    files = log_files(tmp_path)
    head = run("head", *files).stdout.strip()
    newest = tmp_path / "audit.jsonl"
    newest.write_bytes(b"".join(newest.read_bytes().splitlines(keepends=True)[:-1]))
    assert run("verify", *files, "--audit-key", "audit.key").returncode == 0
    done = run("verify", *files, "--audit-key", "audit.key", "--expect-head", head)
    assert done.returncode == 1
    assert ": truncated: " in done.stdout


def test_verify_without_the_key_cannot_tell(run: Run, tmp_path: Path) -> None:
    done = run("verify", *log_files(tmp_path))
    assert done.returncode == 3
    assert AuditKey(SECRET).id in done.stderr


def test_verify_of_a_plain_log_says_what_it_does_not_promise(run: Run, tmp_path: Path) -> None:
    with AuditLog.open(tmp_path / "plain.jsonl") as log:
        log.append(decision(0))
    done = run("verify", "plain.jsonl")
    assert done.returncode == 0
    assert "integrity only, not tamper-evident" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["verify", "missing"], 3),
        (["verify", "audit.jsonl", "--expect-head", "nonsense"], 2),
        (["verify", "audit.jsonl", "--audit-key", "missing"], 3),
        (["head", "audit.key"], 3),
        (["query", "audit.jsonl", "--since", "soon"], 2),
        (["tail", "missing"], 3),
    ],
)
def test_what_cannot_be_done_is_said_on_stderr(run: Run, arguments: Sequence[str], code: int) -> None:
    done = run(*arguments)
    assert done.returncode == code
    assert done.stdout == ""
    assert done.stderr


def test_hash_prints_what_records_carry(run: Run, tmp_path: Path) -> None:
    (tmp_path / "payload.js").write_bytes(b"foobar")
    digest = hashlib.sha256(b"foobar").hexdigest()
    plain = run("hash", "payload.js")
    keyed = run("hash", "-e", "foobar", "--audit-key", "audit.key")
    named = AuditKey(SECRET).payload_hash(bytes.fromhex(digest))
    assert plain.stdout.splitlines() == [f"sha256 {digest}", "fnv1a32 bf9cf968"]
    assert f"hmac-sha256:{AuditKey(SECRET).id} {named}" in keyed.stdout


def test_tail_prints_the_last_records(run: Run, tmp_path: Path) -> None:
    found = printed(run("tail", "-n", "2", *log_files(tmp_path)))
    assert [record["kind"] for record in found] == ["rotate", "refused"]


@pytest.mark.exhaustive
def test_tail_follows_what_is_appended(run: Run, tmp_path: Path) -> None:
    assert run("head", "audit.jsonl").returncode == 0
    with subprocess.Popen(
        [EVALWARD, "audit", "tail", "-f", "-n", "1", "audit.jsonl"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    ) as tail:
        assert tail.stdout is not None
        assert json.loads(tail.stdout.readline())["kind"] == "refused"
        with AuditLog.open(tmp_path / "audit.jsonl", key=AuditKey(SECRET)) as log:
            log.append(decision(8))
        assert json.loads(tail.stdout.readline())["decision_id"] == decided(8)
        tail.kill()


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (["--outcome", "deny"], [decided(1), decided(3), decided(5)]),
        (["--outcome", "allow", "--decision-id", decided(4)], [decided(4)]),
        (["--construct", "process.exit", "--tool", "other"], []),
        (["--shadow", "with", "--since", "1h"], [decided(number) for number in range(6)]),
        (["--kind", "decision", "--since", "2100-01-01"], []),
    ],
)
def test_query_prints_the_records_that_match(
    run: Run, tmp_path: Path, filters: list[str], expected: list[str]
) -> None:
    found = printed(run("query", *log_files(tmp_path), *filters))
    assert [record["decision_id"] for record in found] == expected


def test_summary_counts(run: Run, tmp_path: Path) -> None:
    done = run("summary", "--since", "24h", *log_files(tmp_path))
    counts = json.loads(done.stdout)
    assert counts["decisions"] == {"allowed": 3, "denied": 3, "errors": 0}
    assert counts["denied_by_construct"] == {"process.exit": 3}
    assert counts["would_block"] == {"with": 6}
    assert counts["refused_without_record"] == 7
    assert counts["lifecycle"]["start"] == 1


def test_schema_is_printed(run: Run) -> None:
    assert json.loads(run("schema").stdout) == audit_schema()


@pytest.mark.parametrize(
    ("text", "age"),
    [("30s", timedelta(seconds=30)), ("24h", timedelta(hours=24)), ("7d", timedelta(days=7))],
)
def test_an_age_is_before_now(text: str, age: timedelta) -> None:
    assert since(text, now=NOW) == NOW - age


def test_a_time_without_a_zone_is_utc() -> None:
    assert since("2026-05-04T11:00:00", now=NOW) == NOW - timedelta(hours=1)


def test_what_is_no_record_is_left_out() -> None:
    data = [b'torn {"kind', b"[1]", b'{"kind":"gap","unrecorded":2}', b"[" * 100_000]
    assert [*records(data)] == [{"kind": "gap", "unrecorded": 2}]
    assert summary(records(data))["unrecorded"] == 2
    assert [*matching(records(data), {}, begin=NOW)] == []


@pytest.mark.exhaustive
def test_without_a_log_the_command_says_which_it_looked_for(tmp_path: Path) -> None:
    done = subprocess.run(
        [EVALWARD, "audit", "query"],
        capture_output=True,
        text=True,
        check=False,
        env={"XDG_STATE_HOME": str(tmp_path)},
    )

    assert done.returncode == 3
    assert f"cannot read {tmp_path}/evalward/audit.jsonl: No such file or directory" in done.stderr
    assert "name another one as FILE" in done.stderr


def test_a_time_that_cannot_be_read_is_answered_with_one_that_can(run: Run) -> None:
    done = run("query", "audit.jsonl", "--since", "yesterday")

    assert done.returncode == 2
    assert "2026-11-22T08:00:00Z" in done.stderr
    assert run("query", "audit.jsonl", "--since", "2026-11-22T08:00:00Z").returncode == 0


def test_report_writes_both_forms_and_says_whether_the_log_is_whole(run: Run, tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("api_version: evalward/v1\ntargets: {main: {allowed: true}}\n")
    files = log_files(tmp_path)
    wanted = ["--html", "report.html", "--md", "-", "--policy", "policy.yaml"]

    whole = run("report", *files, *wanted, "--audit-key", "audit.key")
    unverified = run("report", *files, *wanted)
    head = run("head", *files).stdout.strip()
    for file in map(Path, files):
        file.write_bytes(file.read_bytes().replace(b"electron_eval", b"electron_exec"))
    edited = run("report", *files, *wanted, "--audit-key", "audit.key", "--expect-head", head)

    assert (whole.returncode, unverified.returncode, edited.returncode) == (0, 0, 1)
    assert "Whole, tamper-evident." in whole.stdout
    assert "| process.exit | 3 |" in whole.stdout
    assert "Not verified" in unverified.stdout
    assert "Not whole" in edited.stdout
    # The figures are those of all records, whether the chain is whole or not.
    assert "| electron\\_exec |" in edited.stdout
    assert "Denied | 3 |" in edited.stdout
    assert Path("report.html").read_text().startswith("<!doctype html>")


def test_report_of_a_period_counts_its_records_only(run: Run, tmp_path: Path) -> None:
    done = run("report", *log_files(tmp_path), "--md", "-", "--since", "2099-01-01")

    assert done.returncode == 0
    assert "| Calls | 0 |" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code"),
    [([], 2), (["--md", "missing/a.md"], 3), (["--md", "-", "--policy", "missing.yaml"], 3)],
)
def test_report_exits_by_the_rule(arguments: list[str], code: int, run: Run, tmp_path: Path) -> None:
    assert run("report", *log_files(tmp_path), *arguments).returncode == code
