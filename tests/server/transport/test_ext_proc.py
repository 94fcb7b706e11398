"""Envoy's protocol over a real channel, without Envoy: what a filter in another mode could send."""

import json
import threading
from collections.abc import Callable
from typing import Any

import grpc
import pytest

from evalward.gateways.v1 import ext_proc_pb2 as pb
from evalward.guard import judge
from evalward.server.settings import Settings
from evalward.server.transport.ext_proc import STREAMS

METHOD = "/envoy.service.ext_proc.v3.ExternalProcessor/Process"
ESCAPE = "() => globalThis['ev' + 'al'](1)"
Exchange = Callable[..., list[pb.ProcessingResponse]]


def call(code: str = ESCAPE, tool: str = "browser_evaluate", **more: Any) -> bytes:
    params = {"name": tool, "arguments": {"function": code}}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params, **more}).encode()


def headers(*pairs: tuple[str, str], end: bool = False) -> pb.ProcessingRequest:
    given = [
        pb.HeaderValue(key=key, raw_value=value.encode()) for key, value in ((":method", "POST"), *pairs)
    ]
    return pb.ProcessingRequest(
        request_headers=pb.HttpHeaders(headers=pb.HeaderMap(headers=given), end_of_stream=end)
    )


def body(text: bytes, *, end: bool = True) -> pb.ProcessingRequest:
    return pb.ProcessingRequest(request_body=pb.HttpBody(body=text, end_of_stream=end))


@pytest.fixture
def running(start: Callable[..., Any]) -> Any:
    return start(judge, Settings(ext_proc=True))


@pytest.fixture
def exchange(running: Any) -> Exchange:
    def go(*messages: Any, server: str | None = "playwright") -> list[pb.ProcessingResponse]:
        wires = [each if isinstance(each, bytes) else each.SerializeToString() for each in messages]
        stub = running.channel.stream_stream(METHOD)
        metadata = [] if server is None else [("evalward-server", server)]
        return [
            pb.ProcessingResponse.FromString(each)
            for each in stub(iter(wires), metadata=metadata, timeout=60)
        ]

    return go


def denial(answers: list[pb.ProcessingResponse]) -> tuple[int, dict[str, Any]]:
    last = answers[-1]
    assert last.WhichOneof("response") == "immediate_response"
    return last.immediate_response.status.code, json.loads(last.immediate_response.body)


def test_an_escape_is_answered_in_its_own_id(running: Any, exchange: Exchange) -> None:
    answers = exchange(headers(), body(call(id="a-7")))

    status, answer = denial(answers)
    assert answers[0].WhichOneof("response") == "request_headers"
    assert (status, answer["id"], answer["result"]["isError"]) == (200, "a-7", True)
    assert running.records()[-1]["code"] == "EVAL_BLOCKED_CONSTRUCT"


@pytest.mark.parametrize(
    ("server", "tool", "code"),
    [
        (None, "browser_evaluate", "TOOL_UNKNOWN"),
        (None, "puppeteer_evaluate", "TOOL_UNKNOWN"),
        ("playwright", "browser_other", "TOOL_UNKNOWN"),
        ("robot", "run", "TOOL_FIELD_FORBIDDEN"),
    ],
)
def test_the_server_of_the_route_decides(
    exchange: Exchange, server: str | None, tool: str, code: str
) -> None:
    _, answer = denial(exchange(headers(), body(call(tool=tool)), server=server))

    assert answer["result"]["structuredContent"]["code"] == code


def test_a_request_without_a_body_passes(exchange: Exchange) -> None:
    (answer,) = exchange(headers(end=True))

    assert answer.WhichOneof("response") == "request_headers"


def test_an_empty_body_and_other_phases_pass(exchange: Exchange) -> None:
    phases = [
        pb.ProcessingRequest(response_headers=pb.HttpHeaders()),
        pb.ProcessingRequest(response_body=pb.HttpBody(body=b"x")),
        pb.ProcessingRequest(request_trailers=pb.HttpTrailers()),
        pb.ProcessingRequest(response_trailers=pb.HttpTrailers()),
    ]

    answers = exchange(headers(), *phases, body(b""))

    assert [each.WhichOneof("response") for each in answers] == [
        "request_headers",
        "response_headers",
        "response_body",
        "request_trailers",
        "response_trailers",
        "request_body",
    ]


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([body(call())], "without its headers"),
        ([headers(), body(call(), end=False)], "a part of a body"),
        ([headers(("content-encoding", "gzip")), body(call())], "content encoding"),
        ([headers(("Content-Encoding", "br"), ("content-encoding", "identity"))], "content encoding"),
        ([headers(("content-type", 'application/json; charset="UTF-16"'))], "character encoding"),
        ([headers(("upgrade", "websocket"))], "changes its protocol"),
        ([headers((":method", "CONNECT"))], "changes its protocol"),
        ([b"\xff"], "cannot be decoded"),
        ([pb.ProcessingRequest()], "no known phase"),
        (
            [pb.ProcessingRequest(request_headers=pb.HttpHeaders(), observability_mode=True)],
            "observability_mode",
        ),
        (
            [
                pb.ProcessingRequest(
                    request_headers=pb.HttpHeaders(),
                    protocol_config=pb.ProtocolConfiguration(request_body_mode=pb.BODY_SEND_MODE_STREAMED),
                )
            ],
            "must be BUFFERED",
        ),
        ([headers(), body(b"\xef\xbb\xbf" + call())], "not JSON"),
        ([headers(), body(call(extra=1))], "does not know"),
        ([headers(), body(call(jsonrpc="1.0"))], "2.0"),
        ([headers(), body(call(result={}))], "at once"),
        ([headers(), body(call(id=True))], "no id"),
        ([headers(), body(call(id=None))], "no id"),
        ([headers(), body(call(method=["tools/call"]))], "not a text"),
    ],
)
def test_what_cannot_be_judged_is_refused_and_recorded(
    running: Any, exchange: Exchange, messages: list[Any], words: str
) -> None:
    status, answer = denial(exchange(*messages))

    assert (status, answer["id"]) == (400, None) or answer["id"] == 1
    text = json.dumps(answer)
    assert words in text
    assert running.records()[-1]["outcome"] == "deny"


def test_what_is_refused_is_not_read_further(exchange: Exchange) -> None:
    answers = exchange(headers(("upgrade", "websocket")), body(call("() => 1")))

    assert len(answers) == 1


def test_more_streams_than_places_are_refused(running: Any) -> None:
    stub = running.channel.stream_stream(METHOD)
    release: list[Any] = []
    ended = threading.Event()

    def held() -> Any:
        yield headers().SerializeToString()
        ended.wait(30)

    try:
        for _ in range(STREAMS):
            stream = stub(held(), timeout=60)
            next(stream)
            release.append(stream)
        with pytest.raises(grpc.RpcError) as failure:
            list(stub(iter([headers().SerializeToString()]), timeout=60))
        assert failure.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    finally:
        ended.set()
        for stream in release:
            stream.cancel()


def test_it_is_off_by_default(start: Callable[..., Any]) -> None:
    with pytest.raises(grpc.RpcError) as failure:
        list(start(judge).channel.stream_stream(METHOD)(iter([headers().SerializeToString()])))

    assert failure.value.code() is grpc.StatusCode.UNIMPLEMENTED
