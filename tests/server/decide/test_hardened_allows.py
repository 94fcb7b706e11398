"""A hardened program over gRPC: when an ALLOW carries one, what binds it, and what the log says."""

import hashlib
import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from evalward.guard import judge
from evalward.judging.hardening import PREFIX
from evalward.policy import Policy, parse_policy
from evalward.server.settings import Settings
from evalward.tools import parse_manifest
from evalward.v1 import evalward_pb2 as pb

Ask = Callable[..., pb.ValidateRequest]
Start = Callable[..., Any]
pytestmark = pytest.mark.usefixtures("emitter")
EXPRESSION = {"shape": pb.SHAPE_EXPRESSION}


def policy(**rest: Any) -> Policy:
    targets = {"renderer": {"allowed": True}, "sandbox": {"allowed": True}}
    return parse_policy({"api_version": "evalward/v1", "targets": targets, **rest}, source="policy.yaml")


def test_an_allow_carries_a_program_that_binding_envelope_and_record_name(start: Start, ask: Ask) -> None:
    running = start(judge)

    response = running.stub.Validate(ask(**EXPRESSION))

    hardened = response.allowed.hardened
    digest = hashlib.sha256(hardened.program).hexdigest()
    assert hardened.program.endswith(b"v=>(document.title))(0)")
    assert {hardened.sha256, response.binding.hardened_hash} == {digest}
    assert response.binding.code_hash == hashlib.sha256(b"document.title").hexdigest()
    assert (hardened.shape, hardened.sink, hardened.runtime) == (pb.SHAPE_EXPRESSION, "", "1.2.3")
    stated = {"sha256": digest, "length": len(hardened.program), "runtime": "1.2.3"}
    assert json.loads(response.envelope)["hardened"] == stated
    (record,) = running.records()
    assert record["hardened_hash"] == digest


def test_no_two_decisions_have_the_same_prefix(start: Start, ask: Ask) -> None:
    running = start(judge, Settings(verdict_cache=16))

    programs = [running.stub.Validate(ask(**EXPRESSION)).allowed.hardened.program for _ in range(3)]

    prefixes = {program[1:].partition(b"v=>")[0].decode() for program in programs}
    assert len(prefixes) == 3
    assert all(PREFIX.fullmatch(prefix) for prefix in prefixes)
    info = running.server.verdicts.info() if hasattr(running.server, "verdicts") else None
    assert info is None or info.misses == 1


@pytest.mark.parametrize(
    ("rest", "harden", "outcome"),
    [
        ({}, pb.HARDEN_UNSPECIFIED, "hardened"),
        ({}, pb.HARDEN_OFF, "plain"),
        ({}, pb.HARDEN_REQUIRED, "hardened"),
        ({"hardening": "off"}, pb.HARDEN_UNSPECIFIED, "plain"),
        ({"hardening": "off"}, pb.HARDEN_REQUIRED, "hardened"),
        ({"hardening": "required"}, pb.HARDEN_UNSPECIFIED, "hardened"),
        ({"hardening": "required"}, pb.HARDEN_OFF, "STRICT_CONSTANT_OVERRIDE"),
        ({"enforcement": "audit"}, pb.HARDEN_UNSPECIFIED, "plain"),
        ({"enforcement": "audit"}, pb.HARDEN_REQUIRED, "hardened"),
        ({}, 7, "INVALID_INPUT"),
    ],
)
def test_policy_and_request_decide_together(
    start: Start, ask: Ask, rest: dict[str, Any], harden: Any, outcome: str
) -> None:
    running = start(judge, policy=policy(**rest))

    response = running.stub.Validate(ask(harden=harden, **EXPRESSION))

    got = response.error.code or ("hardened" if response.allowed.HasField("hardened") else "plain")
    assert got == outcome
    assert bool(response.binding.hardened_hash) is (outcome == "hardened")


def test_what_cannot_be_hardened_runs_as_it_is_unless_a_program_is_required(start: Start, ask: Ask) -> None:
    payload = b"/* import( */ document.title"
    running = start(judge)

    offered = running.stub.Validate(ask(payload, **EXPRESSION))
    required = running.stub.Validate(ask(payload, harden=pb.HARDEN_REQUIRED, **EXPRESSION))

    location = {"line": 1, "column": 4, "start": 3, "end": 10}
    why = {"reason": "import() is never hardened", "location": location}
    assert offered.WhichOneof("outcome") == "allowed"
    assert json.loads(offered.envelope)["not_hardened"] == why
    assert required.error.code == "EVAL_NOT_HARDENABLE"
    details = json.loads(required.envelope)["details"]
    assert {name: details[name] for name in why} == why
    assert [record.get("code") for record in running.records()] == [None, "EVAL_NOT_HARDENABLE"]


def test_without_a_shape_or_a_sink_there_is_no_program(start: Start, ask: Ask) -> None:
    running = start(judge)

    assert not running.stub.Validate(ask()).allowed.HasField("hardened")
    assert running.stub.Validate(ask(harden=pb.HARDEN_REQUIRED)).error.code == "EVAL_NOT_HARDENABLE"
    by_sink = pb.ValidateRequest(code=b"document.title", sink="playwright.evaluate")
    assert running.stub.Validate(by_sink).allowed.hardened.sink == "playwright.evaluate"


@pytest.mark.parametrize("action", ["audit", "allow"])
def test_a_construct_that_the_policy_permits_keeps_a_payload_as_it_is(
    start: Start, ask: Ask, action: str
) -> None:
    payload = b"globalThis['ev' + 'al']('1')"
    running = start(judge, policy=policy(constructs={"eval()": action}))

    offered = running.stub.Validate(ask(payload, **EXPRESSION))
    required = running.stub.Validate(ask(payload, harden=pb.HARDEN_REQUIRED, **EXPRESSION))

    assert offered.WhichOneof("outcome") == "allowed"
    assert not offered.allowed.HasField("hardened")
    assert required.allowed.HasField("hardened")


def test_a_denial_in_audit_mode_is_enforced_where_a_program_is_required(start: Start, ask: Ask) -> None:
    payload = b"globalThis['ev' + 'al']('1')"
    running = start(judge, policy=policy(enforcement="audit"))

    assert running.stub.Validate(ask(payload, **EXPRESSION)).WhichOneof("outcome") == "allowed"
    required = running.stub.Validate(ask(payload, harden=pb.HARDEN_REQUIRED, **EXPRESSION))
    assert required.error.code == "EVAL_NOT_HARDENABLE"


def test_an_emitter_that_fails_makes_no_program(
    start: Start, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise RecursionError("marker_of_the_payload")

    monkeypatch.setattr("evalward.guard.harden.harden_payload", fails)
    running = start(judge)

    offered = running.stub.Validate(ask(**EXPRESSION))
    required = running.stub.Validate(ask(harden=pb.HARDEN_REQUIRED, **EXPRESSION))

    assert "RecursionError at" in json.loads(offered.envelope)["not_hardened"]["reason"]
    assert b"marker_of_the_payload" not in offered.envelope + required.envelope
    assert required.error.code == "EVAL_NOT_HARDENABLE"


def test_a_stream_carries_programs_and_a_batch_those_that_are_required(start: Start, ask: Ask) -> None:
    running = start(judge)
    items = [
        ask(**EXPRESSION),
        ask(harden=pb.HARDEN_REQUIRED, **EXPRESSION),
        ask(b"/* import( */ 1", harden=pb.HARDEN_REQUIRED, **EXPRESSION),
    ]

    batch = running.stub.ValidateBatch(pb.ValidateBatchRequest(items=items))
    stream = [*running.stub.ValidateStream(pb.ValidateStreamRequest(item=item) for item in items)]

    assert [each.item_index for each in batch.hardened] == [1]
    assert [bool(each.hardened_hash) for each in batch.bindings] == [False, True, False]
    assert batch.hardened[0].hardened.sha256 == batch.bindings[1].hardened_hash
    assert [(each.item_index, each.error.code) for each in batch.failures] == [(2, "EVAL_NOT_HARDENABLE")]
    assert [each.allowed.HasField("hardened") for each in stream] == [True, True, False]


def test_the_programs_of_a_batch_have_a_limit(
    start: Start, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evalward.server.decide.batch_decider.PROGRAM_BYTES", 100)
    running = start(judge)
    items = [ask(harden=pb.HARDEN_REQUIRED, **EXPRESSION)] * 4

    batch = running.stub.ValidateBatch(pb.ValidateBatchRequest(items=items))

    assert [each.item_index for each in batch.hardened] == [0, 1]
    assert [(each.error.code, each.error.limit) for each in batch.failures] == [
        ("BATCH_TOO_LARGE", "program_bytes")
    ] * 2


MANIFEST = parse_manifest(
    {
        "api_version": "evalward/v1",
        "tools": [
            {
                "name": "eval_page",
                "operation_type": "eval",
                "target": "renderer",
                "shape": "expression",
                "source_fields": ["code"],
                "fields": {"url": {"kind": "url"}, "html": {"kind": "markup"}},
                "input_schema": {
                    "type": "object",
                    "properties": {
                        "code": {"type": "string"},
                        "url": {"type": "string"},
                        "html": {"type": "string"},
                    },
                },
            }
        ],
    },
    source="tools.yaml",
)


def declared(tool: str | None = None, field: str | None = None) -> Any:
    """Return the manifest with this ``hardening`` of the tool, and of a field of a command."""
    document = MANIFEST.model_dump(mode="json", exclude_unset=True)
    document["tools"][0] |= {"hardening": tool} if tool else {}
    command = {
        "name": "navigate",
        "operation_type": "command",
        "fields": {"script": {"kind": "source", "target": "renderer", "shape": "expression"}},
        "input_schema": {"type": "object", "properties": {"script": {"type": "string"}}},
    }
    if field:
        command["fields"]["script"]["hardening"] = field  # type: ignore[index]  # a dictionary
    document["tools"].append(command)
    return parse_manifest(document, source="tools.yaml")


def call(arguments: dict[str, str], **rest: Any) -> pb.ValidateCallRequest:
    return pb.ValidateCallRequest(tool="eval_page", arguments_json=json.dumps(arguments).encode(), **rest)


def test_each_source_field_of_a_call_has_its_program(start: Start) -> None:
    running = start(judge, policy=policy(), manifest=MANIFEST)

    response = running.stub.ValidateCall(call({"code": "document.title", "html": "<b>bold</b>"}))

    hardened = {each.path: each.hardened for each in response.fields if each.HasField("hardened")}
    assert [*hardened] == ["/code"]
    stated = {each["path"]: each.get("hardened", {}) for each in json.loads(response.envelope)["fields"]}
    assert stated["/code"]["sha256"] == hardened["/code"].sha256
    assert hashlib.sha256(hardened["/code"].program).hexdigest() == hardened["/code"].sha256


def test_a_field_that_no_program_can_replace_is_denied_where_one_is_required(start: Start) -> None:
    schemes = {"url_schemes": ["https", "javascript"]}
    running = start(judge, policy=policy(hardening="required", fields=schemes), manifest=MANIFEST)

    script = running.stub.ValidateCall(call({"code": "1", "url": "javascript:document.title"}))
    markup = running.stub.ValidateCall(call({"code": "1", "html": "<b>bold</b>"}))

    assert script.error.code == "EVAL_NOT_HARDENABLE"
    assert script.failed_path == "/url"
    assert markup.WhichOneof("outcome") == "allowed"


@pytest.mark.parametrize(("setting", "hardened"), [("off", False), ("required", True)])
def test_a_tool_of_the_policy_has_its_own_setting(start: Start, setting: str, *, hardened: bool) -> None:
    tools = {"eval_page": {"hardening": setting}}
    running = start(judge, policy=policy(tools=tools), manifest=MANIFEST)

    response = running.stub.ValidateCall(call({"code": "1"}))

    assert response.fields[0].HasField("hardened") is hardened


class Case(NamedTuple):
    """The policy's setting, the manifest's, and what follows for a payload with and without a program."""

    own: str
    least: str | None
    hardened: bool
    denied: bool


@pytest.mark.parametrize("tool", ["eval_page", "navigate"])
@pytest.mark.parametrize(
    "case",
    [
        Case("off", None, hardened=False, denied=False),
        Case("off", "offered", hardened=True, denied=False),
        Case("off", "required", hardened=True, denied=True),
        Case("offered", None, hardened=True, denied=False),
        Case("offered", "required", hardened=True, denied=True),
        Case("required", "offered", hardened=True, denied=True),
    ],
)
def test_a_manifest_can_only_make_the_policys_setting_stricter(start: Start, tool: str, case: Case) -> None:
    own, least, hardened, denied = case
    manifest = declared(
        tool=least if tool == "eval_page" else None, field=least if tool == "navigate" else None
    )
    name = "code" if tool == "eval_page" else "script"
    running = start(judge, policy=policy(hardening=own), manifest=manifest)

    def ask(code: str, harden: pb.Harden.ValueType = pb.HARDEN_UNSPECIFIED) -> pb.ValidateCallResponse:
        sent = json.dumps({name: code}).encode()
        answer: pb.ValidateCallResponse = running.stub.ValidateCall(
            pb.ValidateCallRequest(tool=tool, arguments_json=sent, harden=harden)
        )
        return answer

    assert ask("document.title").fields[0].HasField("hardened") is hardened
    refused = ask("/* import( */ document.title")
    assert refused.error.code == ("EVAL_NOT_HARDENABLE" if denied else "")
    declined = ask("document.title", pb.HARDEN_OFF)
    assert declined.error.code == ("STRICT_CONSTANT_OVERRIDE" if denied else "")
