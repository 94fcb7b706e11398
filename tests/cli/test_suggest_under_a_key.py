"""``evalward policy suggest`` for a keyed log, as in every documented deployment."""

from __future__ import annotations

import hashlib
import os
from functools import partial
from typing import TYPE_CHECKING

import command_line
import pytest
import yaml

from evalward.audit import AuditKey, AuditLog, decision_record
from evalward.client.guard_reply import Decision
from evalward.client.triage import Triage
from evalward.errors import Provenance
from evalward.guard import judge
from evalward.guard.target import Target
from evalward.policy import Policy, parse_policy

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from subprocess import CompletedProcess

SECRET = bytes(range(32))
DENIED = b"eval(document.title)"
UNKNOWN = b"eval(document.URL)"


def digest(payload: bytes) -> str:
    return hashlib.sha256(payload).hexdigest()


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., CompletedProcess[str]]:
    """Run ``evalward policy suggest`` with two files of a keyed log and the triage folder of a client."""
    policy = Policy.default().allowing([Target.RENDERER])
    provenance = Provenance("0.1.0", policy.digest, "0" * 12, "tree-sitter-javascript 0.25.0")
    triage = Triage(tmp_path / "triage")
    for name in ("audit.jsonl", "audit.jsonl.1"):
        with AuditLog.open(tmp_path / name, key=AuditKey(SECRET)) as log:
            for payload in (DENIED, UNKNOWN):
                verdict = judge(
                    payload, target=Target.RENDERER, shape=None, rules=policy.rules_for(Target.RENDERER)
                )
                assert not verdict.allowed
                mark = log.fingerprint(verdict.code_hash, payload)
                log.append(
                    decision_record(
                        verdict, decision_id="d1", provenance=provenance, elapsed_us=1, fingerprint=mark
                    )
                )
    assert triage.keep(
        DENIED,
        Decision(allowed=False, code="EVAL_BLOCKED_CONSTRUCT", envelope={"ok": False}, decision_id="d1"),
    )
    for name, secret in (("audit.key", SECRET), ("other.key", os.urandom(32))):
        (tmp_path / name).write_bytes(secret)
        (tmp_path / name).chmod(0o600)

    monkeypatch.chdir(tmp_path)
    return partial(command_line.run, "policy", "suggest", "audit.jsonl", "audit.jsonl.1")


def test_the_key_and_the_payloads_draft_what_loads(
    run: Callable[..., CompletedProcess[str]],
) -> None:
    done = run("--audit-key", "audit.key", "--payloads", "triage")

    assert done.returncode == 0
    (entry,) = yaml.safe_load(done.stdout)["exceptions"]
    assert entry["sha256"] == digest(DENIED)
    assert "# denied 2 times" in done.stdout
    parse_policy({"api_version": "evalward/v1", "exceptions": [entry]}, source="suggested")
    assert done.stderr == "1 denied payload: not in --payloads, so that their SHA-256 is not known\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            [],
            f"2 denied payloads: the log names them under the key {AuditKey(SECRET).id}, and an exception needs",
        ),
        (["--payloads", "triage"], "give --audit-key FILE and --payloads FOLDER"),
        (["--audit-key", "audit.key"], "2 denied payloads: not in --payloads"),
        (["--audit-key", "other.key", "--payloads", "triage"], "and --audit-key has the id "),
    ],
)
def test_it_says_what_it_needs(
    run: Callable[..., CompletedProcess[str]], arguments: list[str], says: str
) -> None:
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr


def test_a_key_that_others_may_read_is_refused(
    run: Callable[..., CompletedProcess[str]], tmp_path: Path
) -> None:
    (tmp_path / "audit.key").chmod(0o640)
    done = run("--audit-key", "audit.key", "--payloads", "triage")
    assert done.returncode == 2
    assert "0640" in done.stderr
