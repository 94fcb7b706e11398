"""A sink in requests, batches, streams and manifests of a real service, and in its replies and records."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalward.client import EvalDenied, GuardClient, guarded
from evalward.v1 import evalward_pb2 as pb

SINK = "playwright.evaluate"
# A block and a pattern as a script, which runs it; a division by a string in parentheses, which does not.
ESCAPE = b"{}/\"/-globalThis['ev'+'al']('1')//\"/1"
TWIN = b'{}/"/-document.title.length//"/1'
MANIFEST = """
api_version: evalward/v1
tools:
  - {name: evaluate, operation_type: eval, sink: playwright.evaluate, source_fields: [code]}
"""


@pytest.fixture
def running(serve: Callable[..., Any], stub_at: Callable[[str], Any], tmp_path: Path) -> Any:
    manifest = tmp_path / "manifest.yaml"
    manifest.write_text(MANIFEST, encoding="utf-8")
    process = serve("--allow-eval", "--manifest", str(manifest), "--workers", "1", "--listen", "127.0.0.1:0")
    process.stub = stub_at(process.listen[0])
    return process


def ask(code: bytes, **rest: Any) -> pb.ValidateRequest:
    return pb.ValidateRequest(code=code, **{"sink": SINK, **rest})


def test_a_text_is_judged_bound_and_recorded_for_its_sink(running: Any) -> None:
    denied, allowed = running.stub.Validate(ask(ESCAPE)), running.stub.Validate(ask(TWIN))
    again = running.stub.Validate(ask(TWIN, sink="selenium.execute-script"))

    assert (denied.error.code, denied.error.construct) == ("EVAL_BLOCKED_CONSTRUCT", "eval()")
    assert [each.WhichOneof("outcome") for each in (allowed, again)] == ["allowed", "allowed"]
    bindings = [each.binding for each in (denied, allowed, again)]
    assert [(each.sink, each.target, each.HasField("shape")) for each in bindings] == [
        (SINK, pb.TARGET_RENDERER, False),
        (SINK, pb.TARGET_RENDERER, False),
        ("selenium.execute-script", pb.TARGET_RENDERER, False),
    ]
    assert json.loads(allowed.envelope)["sink"] == SINK
    assert json.loads(denied.envelope)["details"]["sink"] == SINK
    assert [each["sink"] for each in running.records()] == [SINK, SINK, "selenium.execute-script"]


@pytest.mark.exhaustive
def test_one_text_has_a_verdict_of_its_own_for_each_sink(running: Any) -> None:
    code = b"function f(){}/globalThis['ev'+'al']('1')/g"
    found = {
        sink: running.stub.Validate(ask(code, sink=sink)).WhichOneof("outcome")
        for _ in range(2)
        for sink in (SINK, "puppeteer.evaluate", "cdp.call-function-on")
    }

    assert found == {SINK: "error", "puppeteer.evaluate": "allowed", "cdp.call-function-on": "error"}


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("request_", "field", "allowed"),
    [
        (ask(TWIN, sink="playwright.evaluat"), "/sink", SINK),
        (ask(TWIN, target=pb.TARGET_MAIN), "/target", "renderer"),
        (ask(TWIN, shape=pb.SHAPE_SCRIPT), "/shape", None),
        (
            ask(TWIN, sink="playwright.run-code", bindings={"page": "json"}),
            "/bindings/page",
            "playwright.page",
        ),
    ],
)
def test_a_sink_that_cannot_be_meant_is_refused(
    running: Any, request_: pb.ValidateRequest, field: str, allowed: str | None
) -> None:
    response = running.stub.Validate(request_)

    assert (response.error.code, response.error.field) == ("INVALID_INPUT", field)
    assert allowed is None or allowed in response.error.allowed
    if field == "/sink":
        assert response.error.similar_refs[0] == SINK
        assert response.binding.sink == ""


@pytest.mark.exhaustive
def test_items_of_batches_and_streams_have_sinks(running: Any) -> None:
    batch = running.stub.ValidateBatch(pb.ValidateBatchRequest(items=[ask(TWIN), ask(ESCAPE)]))
    messages = [pb.ValidateStreamRequest(item=ask(code)) for code in (TWIN, ESCAPE)]
    streamed = [*running.stub.ValidateStream(iter(messages))]

    assert [(each.item_index, each.error.construct) for each in batch.failures] == [(1, "eval()")]
    assert [each.sink for each in batch.bindings] == [SINK, SINK]
    assert [each.status for each in streamed] == [pb.ITEM_STATUS_ALLOWED, pb.ITEM_STATUS_FAILED]


def test_a_tool_of_the_manifest_has_a_sink(running: Any) -> None:
    def call(code: bytes) -> pb.ValidateCallResponse:
        arguments = json.dumps({"code": code.decode()}).encode()
        request = pb.ValidateCallRequest(tool="evaluate", arguments_json=arguments)
        response: pb.ValidateCallResponse = running.stub.ValidateCall(request)
        return response

    denied, allowed = call(ESCAPE), call(TWIN)

    assert (denied.error.construct, denied.binding.sink) == ("eval()", SINK)
    assert (allowed.WhichOneof("outcome"), allowed.binding.sink) == ("allowed", SINK)
    assert [(each.path, each.sink) for each in allowed.fields] == [("/code", SINK)]
    assert [each["sink"] for each in running.records()] == [SINK, SINK]


@pytest.mark.parametrize("about", [{"sink": SINK}, {"target": "renderer", "shape": "expression"}])
def test_a_guarded_sink_asks_for_the_profile_seed_where_the_policy_has_it(
    serve: Callable[..., Any], tmp_path: Path, about: Any
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "api_version: evalward/v1\nprofile: seed\nallow_weak: true\ntargets: {renderer: {allowed: true}}\n",
        encoding="utf-8",
    )
    process = serve("--policy", str(policy), "--workers", "0", "--listen", "127.0.0.1:0")

    with GuardClient(process.listen[0], timeout=30) as guard:
        assert (
            guarded(str.upper, guard, profile="seed", harden=False, **about)("document.title")
            == "DOCUMENT.TITLE"
        )
        with pytest.raises(EvalDenied) as denied:
            guarded(str.upper, guard, harden=False, **about)("document.title")

    assert denied.value.envelope["code"] == "INTERNAL"
