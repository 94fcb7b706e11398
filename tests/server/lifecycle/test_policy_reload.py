"""A policy file that changes while the server runs: the new one applies as a whole, or the old one stays."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from admin_http import fetch, samples

from evalward.audit.line_schema import audit_schema
from evalward.guard import judge
from evalward.policy import load_policy
from evalward.server.addresses import TcpAddress
from evalward.server.lifecycle.policy_reload import PolicyFile
from evalward.server.settings import Settings
from evalward.tools.manifest import Manifest
from evalward.v1 import evalward_pb2 as pb

if TYPE_CHECKING:
    from pathlib import Path

    from evalward.guard.verdict import Verdict

Serve = Callable[..., Any]
StubAt = Callable[[str], Any]
Start = Callable[..., Any]
Ask = Callable[..., pb.ValidateRequest]

RENDERER = "api_version: evalward/v1\ntargets: {renderer: {allowed: true}}\n"
NOTHING = "api_version: evalward/v1\ntargets: {renderer: {allowed: false}}\n"
SHADOW = RENDERER + "enforcement: {mode: audit}\n"


def policy_file(folder: Path, text: str = RENDERER) -> PolicyFile:
    path = folder / "policy.yaml"
    path.write_text(text)
    return PolicyFile(path, lambda: load_policy(path))


def lines(running: Any, *kinds: str) -> list[dict[str, Any]]:
    read = [json.loads(line) for line in running.log.read_text().splitlines()]
    return [line for line in read if line["kind"] in kinds]


@pytest.fixture
def reloading(start: Start, tmp_path: Path) -> tuple[Any, PolicyFile]:
    file = policy_file(tmp_path)
    return start(judge, policy=file.load(), policy_file=file), file


def test_everything_follows_the_file(reloading: tuple[Any, PolicyFile], ask: Ask) -> None:
    running, file = reloading
    old = file.load().digest
    assert running.stub.Validate(ask()).WhichOneof("outcome") == "allowed"

    file.path.write_text(NOTHING)
    running.server.reload()

    new = file.load().digest
    answer = running.stub.Validate(ask())
    active_policy = running.stub.GetPolicy(pb.GetPolicyRequest())
    assert answer.error.code == "EVAL_TARGET_DENIED"
    assert answer.binding.policy_digest == new
    assert json.loads(answer.envelope)["_meta"]["provenance"]["policy_digest"] == new
    assert (active_policy.digest, list(active_policy.allowed_targets)) == (new, [])
    assert [
        (line["previous_policy_digest"], line["policy_digest"]) for line in lines(running, "policy_load")
    ] == [(old, new)]
    assert [line["policy_digest"] for line in lines(running, "decision")] == [old, new]
    running.stop()
    assert lines(running, "stop")[0]["policy_digest"] == new


def test_what_was_remembered_under_the_old_policy_is_judged_again(
    start: Start, tmp_path: Path, ask: Ask
) -> None:
    judged = []

    def counting(payload: bytes, **rest: Any) -> Verdict:
        judged.append(payload)
        return judge(payload, **rest)

    file = policy_file(tmp_path)
    running = start(counting, policy=file.load(), policy_file=file)
    for _ in range(2):
        running.stub.Validate(ask())
    file.path.write_text(RENDERER + "profile: strict\n")
    running.server.reload()
    for _ in range(2):
        running.stub.Validate(ask())

    assert len(judged) == 2


def test_a_request_in_flight_ends_under_the_policy_it_began_with(
    start: Start, gate: Any, tmp_path: Path, ask: Ask
) -> None:
    file = policy_file(tmp_path)
    running = start(gate.judge, policy=file.load(), policy_file=file)
    old = file.load().digest
    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(running.stub.Validate, ask())
        assert gate.entered.wait(30)
        file.path.write_text(NOTHING)
        running.server.reload()
        assert running.stub.GetPolicy(pb.GetPolicyRequest()).digest == file.load().digest != old
        gate.leave.set()
        answer = held.result(30)

    assert answer.WhichOneof("outcome") == "allowed"
    assert answer.binding.policy_digest == old


def test_the_next_item_of_an_open_stream_is_judged_by_the_new_policy(
    reloading: tuple[Any, PolicyFile], ask: Ask
) -> None:
    running, file = reloading
    answered = threading.Event()

    def items() -> Iterator[pb.ValidateStreamRequest]:
        yield pb.ValidateStreamRequest(item=ask())
        assert answered.wait(30)
        file.path.write_text(NOTHING)
        running.server.reload()
        yield pb.ValidateStreamRequest(item=ask())

    seen = []
    for each in running.stub.ValidateStream(items()):
        seen.append(each.status)
        answered.set()

    assert seen == [pb.ITEM_STATUS_ALLOWED, pb.ITEM_STATUS_FAILED]


@pytest.mark.parametrize(
    ("text", "field", "count"),
    [
        ("api_version: evalward/v1\nprofil: strict\n", "profil", 1),
        ("api_version: evalward/v1\nprofile: seed\nlimits: {depth: 0, nodes: 0}\n", "limits.depth", 2),
        ("{", None, 1),
        ("", None, 1),
        ("api_version: evalward/v1\n'a key with spaces': 1\n", None, 1),
        (RENDERER + "limits: {payload_bytes: 1000000}\n", "limits.payload_bytes", 1),
        ("api_version: evalward/v1\ntargets: {sandbox: {allowed: true}}\n", "targets.sandbox.allowed", 1),
    ],
)
def test_a_file_that_is_refused_changes_nothing_and_is_a_record(
    text: str, field: str | None, count: int, reloading: tuple[Any, PolicyFile], ask: Ask
) -> None:
    running, file = reloading
    old = file.load().digest
    file.path.write_text(text)

    running.server.reload()

    assert running.stub.Validate(ask()).binding.policy_digest == old
    (record,) = lines(running, "policy_reject")
    assert (record["code"], record["policy_digest"], record["count"]) == ("POLICY_INVALID", old, count)
    assert record.get("field_path") == field
    assert lines(running, "policy_load") == []


def test_a_file_that_is_gone_changes_nothing(reloading: tuple[Any, PolicyFile], ask: Ask) -> None:
    running, file = reloading
    file.path.unlink()

    running.server.reload()

    assert running.stub.Validate(ask()).WhichOneof("outcome") == "allowed"
    assert [line["code"] for line in lines(running, "policy_reject")] == ["POLICY_INVALID"]


def test_a_policy_that_the_manifest_does_not_fit_to_is_refused(start: Start, tmp_path: Path) -> None:
    bound = RENDERER.replace("allowed: true", "allowed: true, bindings: {page: playwright.page}")
    file = policy_file(tmp_path, bound)
    tool = {
        "name": "eval",
        "operation_type": "eval",
        "target": "renderer",
        "shape": "script",
        "bindings": {"page": "playwright.page"},
        "input_schema": {"type": "object", "properties": {"code": {"type": "string"}}},
    }
    manifest = Manifest.model_validate({"api_version": "evalward/v1", "tools": [tool]})
    running = start(policy=file.load(), policy_file=file, manifest=manifest)
    old = file.load().digest
    file.path.write_text(bound.replace("playwright.page", "playwright.context"))

    running.server.reload()

    assert running.stub.GetPolicy(pb.GetPolicyRequest()).digest == old
    assert [line["code"] for line in lines(running, "policy_reject")] in (
        ["CONFIG_INVALID"],
        ["POLICY_INVALID"],
    )


def test_the_record_names_what_the_new_policy_weakens(reloading: tuple[Any, PolicyFile]) -> None:
    running, file = reloading
    file.path.write_text(SHADOW)

    running.server.reload()

    assert lines(running, "policy_load")[0]["weakened"] == ["enforcement-audit=renderer", "workers=0"]


def test_a_policy_whose_record_cannot_be_written_waits(
    reloading: tuple[Any, PolicyFile], ask: Ask, tmp_path: Path
) -> None:
    running, file = reloading
    old = file.load().digest
    moved = running.log.rename(tmp_path / "moved.jsonl")
    running.log.mkdir()
    file.path.write_text(NOTHING)

    running.server.reload()
    assert running.stub.GetPolicy(pb.GetPolicyRequest()).digest == old

    running.log.rmdir()
    moved.rename(running.log)
    running.server.reload()
    assert running.stub.Validate(ask()).binding.policy_digest == file.load().digest != old


def test_a_server_takes_a_changed_file_by_itself_and_at_sighup(
    serve: Serve, stub_at: StubAt, ask: Ask, tmp_path: Path
) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(NOTHING)
    process = serve("--listen", "127.0.0.1:0", "--policy", str(path), "--allow-eval=renderer")
    stub = stub_at(process.listen[0])
    first = stub.GetPolicy(pb.GetPolicyRequest()).digest

    path.write_text(NOTHING + "profile: strict\n")
    process.says("is in force")
    second = stub.GetPolicy(pb.GetPolicyRequest())
    assert second.digest != first
    # What the flag opts in stays in.
    assert stub.Validate(ask()).WhichOneof("outcome") == "allowed"

    path.write_text("api_version: evalward/v2\n")
    process.popen.send_signal(signal.SIGHUP)
    process.says("the changed policy file is rejected")
    assert stub.Validate(ask()).binding.policy_digest == second.digest

    path.write_text(NOTHING)
    process.popen.send_signal(signal.SIGHUP)
    process.says("is in force")
    assert stub.GetPolicy(pb.GetPolicyRequest()).digest == first

    code, _ = process.terminate()
    assert code == 0
    kinds = [line["kind"] for line in process.log_lines()]
    assert kinds.count("policy_load") == 2
    assert "policy_reject" in kinds


def test_the_records_are_those_of_the_schema(reloading: tuple[Any, PolicyFile]) -> None:
    running, file = reloading
    for text in (NOTHING, "{", SHADOW):
        file.path.write_text(text)
        running.server.reload()
    schema = jsonschema.Draft202012Validator(audit_schema())
    found = lines(running, "policy_load", "policy_reject")

    assert [line["kind"] for line in found] == ["policy_load", "policy_reject", "policy_load"]
    for line in found:
        schema.validate(line)


def test_readiness_and_metrics_follow_the_file(start: Start, tmp_path: Path) -> None:
    file = policy_file(tmp_path)
    settings = Settings(admin=TcpAddress("127.0.0.1", 0), warm_sandbox=False)
    running = start(judge, settings, policy=file.load(), policy_file=file)
    admin = running.server.admin_address
    for text in (SHADOW, "{"):
        file.path.write_text(text)
        running.server.reload()
    file.path.write_text(SHADOW)

    ready = fetch(admin, "/readyz")
    found = samples(admin)

    assert ready.status == 200
    assert json.loads(ready.body)["policy_digest"] == file.load().digest
    assert json.loads(ready.body)["enforcement"] == {"renderer": "audit"}
    assert [found[f"evalward_policy_{what}_total"] for what in ("loads", "rejects")] == [1, 1]
    assert found['evalward_enforcement_audit{scope="renderer"}'] == 1
