"""agentgateway's protocol over a real channel, with the messages as agentgateway's own definition numbers them."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
import yaml
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from evalward.gateways.v1 import ext_mcp_pb2 as pb
from evalward.guard import judge
from evalward.policy import Policy
from evalward.server.settings import Settings
from evalward.tools.servers import Servers

ROOT = Path(__file__).parents[3]
METHOD = "/agentgateway.dev.ext_mcp.ExtMcp/"
ESCAPE = "() => globalThis['ev' + 'al'](1)"
ADDED = Settings(ext_mcp=True)
Ask = Callable[..., Any]


@pytest.fixture
def running(start: Callable[..., Any]) -> Any:
    return start(judge, ADDED, servers=Servers.parse(["browser=playwright-mcp"]))


@pytest.fixture
def check(running: Any) -> Ask:
    def request(method: str, params: Any, *servers: str) -> pb.McpRequestResult:
        wire = pb.McpRequest(method=method, service_names=servers or ["playwright"])
        if params is not None:
            wire.mcp_request = params if isinstance(params, bytes) else json.dumps(params).encode()
        call = running.channel.unary_unary(f"{METHOD}CheckRequest", pb.McpRequest.SerializeToString, None)
        return pb.McpRequestResult.FromString(call(wire))

    return request


@pytest.fixture
def listed(running: Any) -> Ask:
    def response(result: Any, *servers: str, method: str = "tools/list") -> pb.McpResponseResult:
        wire = pb.McpResponse(method=method, service_names=servers or ["playwright"])
        wire.mcp_response = result if isinstance(result, bytes) else json.dumps(result).encode()
        call = running.channel.unary_unary(f"{METHOD}CheckResponse", pb.McpResponse.SerializeToString, None)
        return pb.McpResponseResult.FromString(call(wire))

    return response


def evaluate(code: str = "() => document.title") -> dict[str, Any]:
    return {"name": "browser_evaluate", "arguments": {"function": code}, "_meta": {"progressToken": 7}}


def error(result: Any) -> tuple[int, dict[str, Any]]:
    assert result.WhichOneof("result") == "error"
    return result.error.code, json.loads(result.error.mcp_error)


def test_an_allowed_call_passes_with_its_program(running: Any, check: Ask) -> None:
    result = check("tools/call", evaluate())

    assert result.WhichOneof("result") == "mutated"
    params = json.loads(result.mutated)
    assert len(params["arguments"]["function"]) > 1_000
    assert {**params, "arguments": {}} == {**evaluate(), "arguments": {}}
    (record,) = running.records()
    assert (record["outcome"], record["tool"]) == ("allow", "browser_evaluate")


def test_a_call_without_code_passes(check: Ask) -> None:
    params = {"name": "browser_click", "arguments": {"element": "Save", "target": "e3"}}

    assert check("tools/call", params).WhichOneof("result") == "pass"
    assert check("tools/call", {"name": "browser_close"}).WhichOneof("result") == "pass"
    assert (
        check("tools/call", {"name": "get_issue", "arguments": {"id": 1}}, "tracker").WhichOneof("result")
        == "pass"
    )


@pytest.mark.parametrize("server", ["playwright", "browser"])
def test_an_escape_gets_the_envelope(running: Any, check: Ask, server: str) -> None:
    code, body = error(check("tools/call", evaluate(ESCAPE), server))

    assert code == pb.AuthorizationError.AUTHORIZATION_CODE_PERMISSION_DENIED
    assert (body["code"], body["data"]["code"]) == (-32602, "EVAL_BLOCKED_CONSTRUCT")
    assert "EVAL_BLOCKED_CONSTRUCT" in body["message"]
    assert running.records()[-1]["outcome"] == "deny"


@pytest.mark.parametrize("method", ["tools/list", "prompts/get", "ping", "tools/calls"])
def test_other_methods_pass(running: Any, check: Ask, method: str) -> None:
    assert check(method, None).WhichOneof("result") == "pass"
    assert running.records() == []


@pytest.mark.parametrize(
    ("method", "params", "servers"),
    [
        ("tools/call", None, ["playwright"]),
        ("tools/call", b"[]", ["playwright"]),
        ("tools/call", b'{"name":"browser_close","name":"x"}', ["playwright"]),
        ("tools/call", b'{"name":"browser_close","Arguments":{}}', ["playwright"]),
        ("tools/call", b'{"name":1}', ["playwright"]),
        ("tools/call", b'{"name":"browser_close","arguments":"{}"}', ["playwright"]),
        ("tools/call", b'{"name":"browser_close"}', ["playwright", "browser"]),
        ("tools/call", b'{"name":"browser_close"}', [""]),
        ("Tools/Call", b'{"name":"browser_close"}', ["playwright"]),
        (" tools/call", b'{"name":"browser_close"}', ["playwright"]),
    ],
)
def test_what_two_readers_could_take_differently_is_refused(
    running: Any, check: Ask, method: str, params: bytes | None, servers: list[str]
) -> None:
    code, body = error(check(method, params, *servers))

    assert code == pb.AuthorizationError.AUTHORIZATION_CODE_INVALID
    assert body["data"]["code"] == "INVALID_INPUT"
    assert running.records()[-1]["outcome"] == "deny"


def test_bytes_that_are_no_message_are_refused(running: Any) -> None:
    call = running.channel.unary_unary(f"{METHOD}CheckRequest")

    assert error(pb.McpRequestResult.FromString(call(b"\xff")))[1]["data"]["code"] == "INVALID_INPUT"


def test_a_list_loses_what_is_always_denied(listed: Ask) -> None:
    # browser_run_code_unsafe evaluates in the server's own process, which the policy here does not opt in.
    names = ["browser_click", "browser_evaluate", "browser_run_code_unsafe", "browser_new"]
    result = listed({"tools": [{"name": name, "x": 1} for name in names], "nextCursor": "c"})

    assert result.WhichOneof("result") == "mutated"
    assert json.loads(result.mutated) == {
        "tools": [{"name": "browser_click", "x": 1}, {"name": "browser_evaluate", "x": 1}],
        "nextCursor": "c",
    }


def test_a_list_of_several_servers_has_their_prefixes(listed: Ask) -> None:
    names = ["browser_browser_run_code_unsafe", "browser_browser_click", "tracker_run", "stray"]

    result = listed({"tools": [{"name": name} for name in names]}, "browser", "tracker")

    kept = [each["name"] for each in json.loads(result.mutated)["tools"]]
    assert kept == ["browser_browser_click", "tracker_run"]


def test_other_results_pass(listed: Ask) -> None:
    assert listed({"tools": [{"name": "browser_click"}]}).WhichOneof("result") == "pass"
    assert listed({"tools": [{"name": "run"}]}, "tracker").WhichOneof("result") == "pass"
    assert listed({"content": []}, method="tools/call").WhichOneof("result") == "pass"


@pytest.mark.parametrize("result", [b"", b"[]", b"{}", b'{"tools":[1]}', b'{"tools":[{}]}'])
def test_a_list_that_cannot_be_read_is_refused(listed: Ask, result: bytes) -> None:
    assert error(listed(result))[1]["data"]["code"] == "INVALID_INPUT"


def test_it_is_off_by_default_and_needs_the_token(start: Callable[..., Any]) -> None:
    wire = pb.McpRequest(method="ping").SerializeToString()
    without = start(judge)

    with pytest.raises(grpc.RpcError) as failure:
        without.channel.unary_unary(f"{METHOD}CheckRequest")(wire)
    assert failure.value.code() is grpc.StatusCode.UNIMPLEMENTED
    without.stop()

    running = start(judge, ADDED, token="a-token-of-the-test")
    call = running.channel.unary_unary(f"{METHOD}CheckRequest")
    with pytest.raises(grpc.RpcError) as failure:
        call(wire)
    assert failure.value.code() is grpc.StatusCode.UNAUTHENTICATED
    assert call(wire, metadata=[("authorization", "Bearer a-token-of-the-test")])


def test_a_policy_without_opt_in_denies_every_evaluation(start: Callable[..., Any]) -> None:
    running = start(judge, ADDED, policy=Policy.default())
    wire = pb.McpRequest(
        method="tools/call", service_names=["playwright"], mcp_request=json.dumps(evaluate()).encode()
    )
    call = running.channel.unary_unary(f"{METHOD}CheckRequest", pb.McpRequest.SerializeToString, None)

    assert error(pb.McpRequestResult.FromString(call(wire)))[1]["data"]["code"] == "EVAL_TARGET_DENIED"


# The numbers and types in agentgateway's definition: (message, field, number, type).
PUBLISHED = """
McpRequest service_names 1 string; McpRequest method 2 string; McpRequest mcp_request 4 bytes
McpResponse service_names 1 string; McpResponse method 2 string; McpResponse mcp_response 4 bytes
McpRequestResult pass 1 message; McpRequestResult mutated 2 bytes; McpRequestResult error 3 message
McpResponseResult pass 1 message; McpResponseResult mutated 2 bytes; McpResponseResult error 3 message
AuthorizationError code 1 enum; AuthorizationError reason 2 string; AuthorizationError mcp_error 3 bytes
"""


def test_the_numbers_are_those_of_the_published_protocol() -> None:
    kinds = {9: "string", 12: "bytes", 11: "message", 14: "enum"}
    own = {
        f"{message.name} {field.name} {field.number} {kinds[field.type]}"
        for message in pb.DESCRIPTOR.message_types_by_name.values()
        for field in message.fields
    }

    assert own == {entry.strip() for entry in re.split(r"[;\n]", PUBLISHED) if entry.strip()}


def test_other_libraries_can_register_the_protocol_by_its_name() -> None:
    pool = descriptor_pool.DescriptorPool()
    file = descriptor_pb2.FileDescriptorProto(name="ext_mcp.proto", package="agentgateway.dev.ext_mcp")
    file.message_type.add(name="McpRequest")
    pool.Add(file)

    assert message_factory.GetMessages([file], pool=pool)
    assert pb.DESCRIPTOR.package == "evalward.gateways.v1"


def test_the_configuration_of_the_page_asks_for_what_is_served() -> None:
    page = (ROOT / "docs" / "how-to" / "gateways.md").read_text("utf-8")
    found = re.search(r"<!-- agentgateway -->\n```yaml\n(.*?)```", page, re.DOTALL)
    assert found is not None
    (processor,) = yaml.safe_load(found[1])["mcpGuardrails"]["processors"]

    assert processor["failureMode"] == "failClosed"
    assert processor["methods"] == {"tools/call": "request", "tools/list": "response"}
    assert (processor["kind"], processor["host"]) == ("remote", "127.0.0.1:7443")
