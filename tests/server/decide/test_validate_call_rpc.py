"""ValidateCall over a real channel, with the real guard and the manifest of the tests."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
import yaml

from evalward.guard import judge
from evalward.guard.target import Target
from evalward.policy import parse_policy
from evalward.tools import ManifestError, load_manifest
from evalward.v1 import evalward_pb2 as pb

EVALWARD = Path(sys.executable).with_name("evalward")
DATA = Path(__file__).parents[2] / "data" / "tools"
MANIFEST = load_manifest(DATA / "manifest.yaml")
CALLS = yaml.safe_load((DATA / "calls.yaml").read_text("utf-8"))
ESCAPE = "globalThis['pro'+'cess']['ex'+'it']()"
Ask = Callable[..., pb.ValidateCallResponse]


@pytest.fixture
def running(start: Callable[..., Any]) -> Any:
    return start(judge, manifest=MANIFEST)


@pytest.fixture
def ask(running: Any) -> Ask:
    def call(tool: str, arguments: str, **fields: Any) -> pb.ValidateCallResponse:
        request = pb.ValidateCallRequest(tool=tool, arguments_json=arguments.encode(), **fields)
        response: pb.ValidateCallResponse = running.stub.ValidateCall(request)
        return response

    return call


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_every_source_field_is_judged_bound_and_recorded(running: Any, ask: Ask) -> None:
    arguments = '{"script":"document.title","steps":[{"source":"1+1"}],"label":"x"}'

    response = ask("run", arguments, session_id="s", request_id="r")

    assert response.WhichOneof("outcome") == "allowed"
    judged = [(field.path, field.sha256) for field in response.fields]
    assert judged == [("/script", sha256("document.title")), ("/steps/0/source", sha256("1+1"))]
    binding = response.binding
    assert (binding.code_hash, binding.target, binding.request_id) == (
        sha256(arguments),
        pb.TARGET_RENDERER,
        "r",
    )
    assert (response.tool, response.failed_path) == ("run", "")
    envelope = json.loads(response.envelope)
    assert [(field["path"], field["sha256"]) for field in envelope["fields"]] == judged
    assert (envelope["ok"], envelope["tool"], envelope["_meta"]["decision_id"]) == (
        True,
        "run",
        binding.decision_id,
    )
    records = running.records()
    assert [(record["field_path"], record["code_hash"]) for record in records] == judged
    assert {record["decision_id"] for record in records} == {binding.decision_id}
    assert {(record["tool"], record["manifest_digest"], record["outcome"]) for record in records} == {
        ("run", MANIFEST.digest, "allow")
    }


@pytest.mark.parametrize(
    ("tool", "arguments", "path"),
    [
        ("run", {"code": ESCAPE}, "/code"),
        ("run", {"code": "1", "script": ESCAPE}, "/script"),
        ("run", {"code": "1", "steps": [{"source": "1"}, {"source": ESCAPE}]}, "/steps/1/source"),
        ("run", {"code": "1", "data": {"constructor": {"code": ESCAPE}}}, "/data/constructor/code"),
        (
            "pinned",
            {"options": {"script": "() => 1"}, "batch": [{"note": "n"}, {"code": f"() => {ESCAPE}"}]},
            "/batch/1/code",
        ),
        ("app", {"command": "eval", "code": ESCAPE}, "/code"),
        ("schemaless", {"a": [{"pageFunction": ESCAPE}]}, "/a/0/pageFunction"),
    ],
)
def test_an_escape_in_any_source_field_is_caught(
    tool: str, arguments: dict[str, Any], path: str, running: Any, ask: Ask
) -> None:
    response = ask(tool, json.dumps(arguments))

    assert response.WhichOneof("outcome") == "error"
    assert (response.error.code, response.error.construct) == ("EVAL_BLOCKED_CONSTRUCT", "process.exit")
    assert (response.failed_path, response.fields[-1].path) == (path, path)
    details = json.loads(response.envelope)["details"]
    assert (details["tool"], details["path"]) == (tool, path)
    assert running.records()[-1]["outcome"] == "deny"
    assert len(running.records()) == len(response.fields)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "call", [call for call in CALLS if "refused" in call], ids=lambda call: call["arguments"][:40]
)
def test_a_refused_call_says_the_field_and_leaves_one_record_without_its_arguments(
    call: dict[str, Any], running: Any, ask: Ask
) -> None:
    response = ask(call["tool"], call["arguments"])

    assert response.WhichOneof("outcome") == "error"
    assert (response.error.code, response.error.field) == (call["refused"], call["field"])
    (record,) = running.records()
    assert (record["outcome"], record["code"], record["tool"]) == ("deny", call["refused"], call["tool"])
    assert not record.keys() & {"code_hash", "code_length", "field_path"}
    assert list(response.fields) == []


def test_a_command_is_allowed_and_its_arguments_leave_no_trace(running: Any, ask: Ask) -> None:
    arguments = '{"text":"hunter2"}'

    response = ask("type_text", arguments)

    assert response.WhichOneof("outcome") == "allowed"
    assert (list(response.fields), response.binding.code_hash) == ([], sha256(arguments))
    assert not response.binding.target
    (record,) = running.records()
    assert (record["outcome"], record["tool"]) == ("allow", "type_text")
    log = running.log.read_text()
    assert "hunter2" not in log
    assert sha256(arguments) not in log


def test_a_command_is_not_judged_as_code(ask: Ask) -> None:
    assert ask("type_text", '{"text":"process.exit()"}').WhichOneof("outcome") == "allowed"


def test_an_unknown_tool_gets_the_closest_names(running: Any, ask: Ask) -> None:
    response = ask("type_txt", "{}")

    assert response.error.code == "TOOL_UNKNOWN"
    assert json.loads(response.envelope)["similar_refs"][0] == "type_text"
    assert next(iter(response.error.similar_refs)) == "type_text"
    assert [record["code"] for record in running.records()] == ["TOOL_UNKNOWN"]


@pytest.mark.parametrize("tool", ["RUN", "Run", " run", "\uff52un", "run\u200b"])
def test_no_other_spelling_of_a_tool_is_that_tool(tool: str, ask: Ask) -> None:
    assert ask(tool, '{"code":"1"}').error.code in {"TOOL_UNKNOWN", "INVALID_INPUT"}


def test_without_a_manifest_every_tool_is_unknown(start: Callable[..., Any]) -> None:
    response = start().stub.ValidateCall(pb.ValidateCallRequest(tool="run", arguments_json=b"{}"))

    assert (response.WhichOneof("outcome"), response.error.code) == ("error", "TOOL_UNKNOWN")


@pytest.mark.parametrize(
    ("fields", "code", "field"),
    [
        ({"tool": ""}, "MISSING_FIELD", "/tool"),
        ({"tool": "two words"}, "INVALID_INPUT", "/tool"),
        ({"profile": pb.PROFILE_SEED}, "STRICT_CONSTANT_OVERRIDE", "/profile"),
        ({"limits": pb.Limits(depth=10**9)}, "STRICT_CONSTANT_OVERRIDE", "/limits/depth"),
        ({"session_id": "two words"}, "INVALID_INPUT", "/session_id"),
    ],
)
def test_a_bad_request_is_refused(fields: dict[str, Any], code: str, field: str, running: Any) -> None:
    request = pb.ValidateCallRequest(**{"tool": "run", "arguments_json": b'{"code":"1"}', **fields})

    response = running.stub.ValidateCall(request)

    assert (response.error.code, response.error.field) == (code, field)


def test_arguments_beyond_the_limit_are_refused_with_its_name(ask: Ask) -> None:
    response = ask("run", '{"code":"1","label":"' + "x" * 530_000 + '"}')

    assert (response.error.code, response.error.limit) == ("EVAL_PAYLOAD_TOO_LARGE", "arguments_bytes")


def test_a_denied_target_gives_the_operators_flag_in_a_field_of_its_own(ask: Ask) -> None:
    response = ask("denied", '{"code":"1"}')

    assert response.error.code == "EVAL_TARGET_DENIED"
    assert response.error.message == "The policy denies eval in the target main."
    assert list(response.error.required) == ["--allow-eval=main"]


@pytest.mark.parametrize(("tool", "arguments"), [("run", '{"code":"1"}'), ("type_text", '{"text":"a"}')])
def test_without_an_audit_record_no_call_is_allowed(
    tool: str, arguments: str, running: Any, ask: Ask
) -> None:
    running.log.unlink()

    with pytest.raises(grpc.RpcError) as failure:
        ask(tool, arguments)

    assert failure.value.code() is grpc.StatusCode.UNAVAILABLE


def test_context_is_quoted_only_when_asked_for_and_never_logged(running: Any, ask: Ask) -> None:
    code = "\n".join([f"// marker_{n}" for n in range(40)] + [ESCAPE])
    arguments = json.dumps({"code": code})

    without, quoted = ask("run", arguments), ask("run", arguments, include_context=True)

    assert "context" not in json.loads(without.envelope)["details"]
    snippet = json.loads(quoted.envelope)["details"]["context"]["snippet"]
    assert snippet.splitlines()[-1] == ESCAPE
    assert len(snippet.splitlines()) == 15
    assert "marker" not in running.log.read_text()


def test_a_tool_can_be_audited_before_it_is_enforced(start: Callable[..., Any]) -> None:
    policy = parse_policy(
        {
            "api_version": "evalward/v1",
            "targets": {"renderer": {"allowed": True}},
            "tools": {"run": {"enforcement": "audit"}},
        },
        source="policy",
    )
    running = start(judge, policy=policy, manifest=MANIFEST)
    arguments = json.dumps({"code": ESCAPE}).encode()

    shadowed = running.stub.ValidateCall(pb.ValidateCallRequest(tool="run", arguments_json=arguments))
    enforced = running.stub.ValidateCall(pb.ValidateCallRequest(tool="schemaless", arguments_json=arguments))

    assert list(shadowed.allowed.would_block) == ["process.exit"]
    assert enforced.error.code == "EVAL_BLOCKED_CONSTRUCT"


def test_bindings_that_the_policy_refuses_stop_the_start(start: Callable[..., Any]) -> None:
    policy = parse_policy(
        {
            "api_version": "evalward/v1",
            "targets": {"renderer": {"allowed": True, "bindings": {"page": "playwright.page"}}},
        },
        source="policy",
    )
    tool = MANIFEST.tools[0].model_copy(update={"bindings": {"page": "json"}})
    manifest = MANIFEST.model_copy(update={"tools": (tool,)})

    with pytest.raises(ManifestError, match="tool run: bindings"):
        start(judge, policy=policy, manifest=manifest)


def test_serve_refuses_a_bad_manifest_by_tool_field_and_allowed_values(tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text("api_version: evalward/v1\ntools:\n  - {name: run_js, operation_type: evil}\n")
    command = [str(EVALWARD), "serve", "--listen", "127.0.0.1:0", "--audit-log", str(tmp_path / "a")]

    done = subprocess.run(
        [*command, "--manifest", str(bad)], capture_output=True, text=True, check=False, timeout=60
    )

    assert done.returncode == 3
    assert done.stdout == ""
    for part in ("CONFIG_INVALID", "tool run_js", "operation_type", "command, query, eval"):
        assert part in done.stderr


@pytest.mark.exhaustive
def test_serve_routes_by_its_manifest(serve: Callable[..., Any], stub_at: Callable[..., Any]) -> None:
    process = serve(
        "--listen", "127.0.0.1:0", "--allow-eval=renderer", "--manifest", str(DATA / "manifest.yaml")
    )
    stub = stub_at(process.listen[0])

    allowed = stub.ValidateCall(
        pb.ValidateCallRequest(tool="run", arguments_json=b'{"code":"document.title"}')
    )
    escape = json.dumps({"code": ESCAPE}).encode()
    blocked = stub.ValidateCall(pb.ValidateCallRequest(tool="run", arguments_json=escape))

    assert allowed.WhichOneof("outcome") == "allowed"
    assert blocked.error.code == "EVAL_BLOCKED_CONSTRUCT"
    assert Target.RENDERER.value in {record.get("target") for record in process.records()}
    assert process.log_lines()[0]["manifest_digest"] == MANIFEST.digest
