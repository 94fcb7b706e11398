"""The caller and the trace of a request: on the wire, in the audit log, and in the reply."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
import yaml

from evalward.audit.record import PATTERNS
from evalward.server.requests.caller import parse_traceparent
from evalward.server.transport.caller_identity import (
    CallerIdentityReader,
    certificate_principal,
    token_principal,
)
from evalward.tools import Manifest
from evalward.v1 import evalward_pb2 as pb

CASES = yaml.safe_load(Path(__file__).parents[2].joinpath("data/traceparent.yaml").read_text("utf-8"))
TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"
TRACEPARENT = f"00-{TRACE_ID}-00f067aa0ba902b7-01"
TRACED = (("traceparent", TRACEPARENT),)
TOKEN = "0123456789abcdef-secret"

Start = Callable[..., Any]
Ask = Callable[..., pb.ValidateRequest]


@pytest.mark.parametrize(("text", "trace_id"), CASES)
def test_a_traceparent_is_read_as_the_standard_says(text: str, trace_id: str | None) -> None:
    trace = parse_traceparent(text)
    assert (trace and trace.trace_id) == trace_id


def test_binary_metadata_is_no_traceparent() -> None:
    assert parse_traceparent(TRACEPARENT.encode()) is None


def test_every_rpc_records_the_trace_and_repeats_it(start: Start, ask: Ask) -> None:
    manifest = Manifest.model_validate(
        {
            "api_version": "evalward/v1",
            "tools": [{"name": "run", "operation_type": "command", "input_schema": {"type": "object"}}],
        }
    )
    running = start(manifest=manifest)
    stub, items = running.stub, [pb.ValidateStreamRequest(item=ask())] * 2
    calls: list[Any] = [
        lambda: stub.Validate.with_call(ask(), metadata=TRACED)[1],
        lambda: stub.Validate.with_call(ask(b"block"), metadata=TRACED)[1],
        lambda: stub.Validate.with_call(pb.ValidateRequest(code=b"1"), metadata=TRACED)[1],
        lambda: stub.ValidateBatch.with_call(pb.ValidateBatchRequest(items=[ask()] * 2), metadata=TRACED)[1],
        lambda: stub.ValidateCall.with_call(pb.ValidateCallRequest(tool="none"), metadata=TRACED)[1],
        lambda: stub.ValidateCall.with_call(
            pb.ValidateCallRequest(tool="run", arguments_json=b"{}"), metadata=TRACED
        )[1],
        lambda: drained(stub.ValidateStream(iter(items), metadata=TRACED)),
        lambda: stub.Evaluate.with_call(pb.EvaluateRequest(code=b"1"), metadata=TRACED)[1],
    ]
    for number, call in enumerate(calls):
        before = len(running.records())
        answered: Any = call()
        assert dict(answered.initial_metadata())["traceparent"] == TRACEPARENT, number
        new = running.records()[before:]
        assert new, number
        assert {record["trace_id"] for record in new} == {TRACE_ID}, number
        assert not any("principal" in record for record in new)


def drained(call: Any) -> Any:
    list(call)
    return call


def test_a_status_repeats_the_trace_too(start: Start, ask: Ask) -> None:
    def fail(_payload: bytes, **_rest: Any) -> Any:
        raise RuntimeError

    running = start(fail)
    with pytest.raises(grpc.RpcError) as failure:
        running.stub.Validate(ask(), metadata=TRACED)
    metadata: Any = failure.value
    assert dict(metadata.initial_metadata())["traceparent"] == TRACEPARENT
    (record,) = running.records()
    assert (record["trace_id"], record["code"]) == (TRACE_ID, "INTERNAL")


@pytest.mark.parametrize(
    "metadata",
    [(), (("traceparent", "00-marker_1f-01"),), (("tracestate", "marker_1f=1"),)],
    ids=["none", "malformed", "only a tracestate"],
)
def test_what_is_no_trace_context_is_ignored(metadata: Any, start: Start, ask: Ask) -> None:
    running = start()
    response, call = running.stub.Validate.with_call(ask(), metadata=metadata)
    assert response.WhichOneof("outcome") == "allowed"
    assert "traceparent" not in dict(call.initial_metadata())
    assert "trace_id" not in running.records()[0]
    assert "marker" not in running.log.read_text()


def test_the_token_is_the_principal_and_is_not_told(start: Start, ask: Ask) -> None:
    running = start(token=TOKEN)
    running.stub.Validate(ask(), metadata=(("authorization", f"Bearer {TOKEN}"),))
    (record,) = running.records()
    assert record["principal"] == token_principal(TOKEN)
    assert token_principal(TOKEN) != token_principal(TOKEN + "x")
    assert TOKEN[:8] not in running.log.read_text()


def test_an_authorization_that_nobody_checked_is_no_principal(start: Start, ask: Ask) -> None:
    running = start()
    running.stub.Validate(ask(), metadata=(("authorization", f"Bearer {TOKEN}"),))
    assert "principal" not in running.records()[0]


@pytest.mark.parametrize(
    ("names", "principal"),
    [
        ({"x509_common_name": [b"dispatcher"]}, "cert:dispatcher"),
        (
            {"x509_common_name": [b"a"], "x509_subject_alternative_name": [b"b.example", b"c"]},
            "cert:b.example",
        ),
        (
            {"x509_subject_alternative_name": [b"spiffe://example.org/agent"]},
            "cert:spiffe://example.org/agent",
        ),
        ({}, None),
    ],
)
def test_the_name_of_a_certificate_is_the_principal(names: dict[str, Any], principal: str | None) -> None:
    assert certificate_principal(names) == principal


@pytest.mark.parametrize("name", [b"two words", b'"', b"\n", b"\xff", b"a" * 200, b"marker \xe2\x80\xa8"])
def test_a_name_that_the_log_does_not_take_is_a_digest(name: bytes) -> None:
    principal = certificate_principal({"x509_common_name": [name]})
    assert principal is not None
    assert principal.startswith("cert:sha256:")
    assert PATTERNS["principal"].fullmatch(principal)
    assert json.dumps(principal) == f'"{principal}"'


@pytest.mark.parametrize(("name", "is_heard"), [(b"dispatcher", True), (b"stranger", False)])
def test_a_connection_is_kept_for_its_calls_only_if_they_may_be_made(
    name: bytes,
    *,
    is_heard: bool,
) -> None:
    class Shown:
        def invocation_metadata(self) -> tuple[()]:
            return ()

        def auth_context(self) -> dict[str, list[bytes]]:
            return {"transport_security_type": [b"ssl"], "x509_common_name": [name]}

        def peer(self) -> str:
            return "ipv4:192.0.2.1:1"

    heard: list[str] = []
    reader = CallerIdentityReader(certificates=True, tokens=False, names=["dispatcher"], heard=heard.append)

    reader.read(Shown())  # type: ignore[arg-type]  # what it asks of a context

    assert bool(heard) is is_heard
