"""Envoy's external processor on the gRPC listener: ``envoy.service.ext_proc.v3.ExternalProcessor``.

For MCP servers over streamable HTTP behind Envoy. The filter must send request headers, and request bodies as a whole
(BUFFERED); a stream with another mode is refused. A tools/call is judged, other messages pass. After the body the
stream ends, so that responses, which may be long streams of events, are never held.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final

import grpc
from google.protobuf.message import DecodeError

from evalward.adapters import to_call_tool_result
from evalward.errors import Code, CodedError, Repair, pointer
from evalward.gateways.v1 import ext_proc_pb2 as pb
from evalward.server.decide.server_calls import ServerCall
from evalward.server.requests.jsonrpc_request import (
    as_json,
    is_tool_call,
    read_message,
    request_id,
    tool_call,
)
from evalward.server.transport.door_calls import DoorCalls
from evalward.tools.servers import Named

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from evalward.server.requests.caller import Caller
    from evalward.server.requests.jsonrpc_request import ToolCall
    from evalward.server.transport.guard_service import GuardService

SERVICE_NAME: Final = "envoy.service.ext_proc.v3.ExternalProcessor"
RPC: Final = "ExtProc"
SERVER_KEY: Final = "evalward-server"
"""The metadata of the stream in which the filter's configuration names the MCP server of a route."""
STREAMS: Final = 64
"""Streams at a time; each takes a thread while Envoy reads a body."""
SECONDS: Final = 30.0
"""The patience of a call: Envoy's own time limit ends it before."""
INVALID_REQUEST: Final = -32600
_UTF8: Final = frozenset({"utf-8", "utf8"})


class ExtProc:
    """The handler of the protocol for one server."""

    def __init__(self, service: GuardService) -> None:
        self._calls = DoorCalls(service, RPC)
        self._places = threading.BoundedSemaphore(STREAMS)

    def handler(self) -> grpc.GenericRpcHandler[Any, Any]:
        """Return the handler to add to a server."""
        process = grpc.stream_stream_rpc_method_handler(
            self.process, response_serializer=pb.ProcessingResponse.SerializeToString
        )
        return grpc.method_handlers_generic_handler(SERVICE_NAME, {"Process": process})

    def process(
        self, wires: Iterator[bytes], context: grpc.ServicerContext
    ) -> Iterator[pb.ProcessingResponse]:
        """Answer the phases of one HTTP request, up to its body."""
        caller = self._calls.service.admit(RPC, context).caller
        if not self._places.acquire(blocking=False):
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "too many requests at a time")
        try:
            yield from _Request(self._calls, caller, _server(context)).answers(wires)
        finally:
            self._places.release()


def _server(context: grpc.ServicerContext) -> str | None:
    given = [value for key, value in context.invocation_metadata() or () if key == SERVER_KEY]
    return given[0] if len(given) == 1 and isinstance(given[0], str) and given[0] else None


class _Request:
    """One HTTP request on its way: ``server`` is the configured name of the MCP server, if there is one."""

    def __init__(self, calls: DoorCalls, caller: Caller, server: str | None) -> None:
        self._calls = calls
        self._caller = caller
        self._server = server
        self._is_open = False

    def answers(self, wires: Iterator[bytes]) -> Iterator[pb.ProcessingResponse]:
        """Yield the answer to each phase; the last one is that of the body, or of headers without a body."""
        for wire in wires:
            try:
                message = pb.ProcessingRequest.FromString(wire)
                _check_mode(message)
                phase = message.WhichOneof("request")
                if phase == "request_headers":
                    _check_headers(message.request_headers)
                    self._is_open = True
                elif phase == "request_body":
                    yield self._body(message.request_body)
                    return
            except (CodedError, DecodeError) as failure:
                yield self._refused(failure)
                return
            if phase is None:
                yield self._refused(
                    CodedError(
                        Code.INVALID_INPUT,
                        "Envoy sent a message of no known phase.",
                        repair=Repair(field=pointer()),
                    )
                )
                return
            yield _continued(phase)
            if phase == "request_headers" and message.request_headers.end_of_stream:
                return

    def _body(self, body: pb.HttpBody) -> pb.ProcessingResponse:
        if not self._is_open:
            raise CodedError(
                Code.INVALID_INPUT,
                "Envoy sent a body without its headers: see request_header_mode.",
                repair=Repair(field=pointer()),
            )
        if not body.end_of_stream:
            raise CodedError(
                Code.INVALID_INPUT,
                "Envoy sent a part of a body: request_body_mode must be BUFFERED.",
                repair=Repair(field=pointer()),
            )
        if not body.body:
            return _continued("request_body")
        message: dict[str, Any] = {}
        asked: list[ToolCall] = []

        def read() -> ServerCall | None:
            message.update(read_message(body.body))
            if "method" not in message or not is_tool_call(message["method"]):
                return None
            if request_id(message) is None:
                raise CodedError(
                    Code.INVALID_INPUT,
                    "The tools/call has no id, so that it cannot be answered.",
                    repair=Repair(field=pointer()),
                )
            asked.append(tool_call(message.get("params")))
            return ServerCall((Named(self._server, asked[0].name),), asked[0].arguments_json)

        decided = self._calls.decide(read, self._caller, SECONDS)
        if decided is None:
            return _continued("request_body")
        if not decided.allowed:
            return _denied(request_id(message), decided.call.decision.envelope)
        if decided.arguments is None:
            return _continued("request_body")
        changed = as_json({**message, "params": asked[0].with_arguments(decided.arguments)})
        common = pb.CommonResponse(
            header_mutation=_header("content-length", str(len(changed))),
            body_mutation=pb.BodyMutation(body=changed),
        )
        return pb.ProcessingResponse(request_body=pb.PhaseResponse(response=common))

    def _refused(self, failure: Exception) -> pb.ProcessingResponse:
        """Return the recorded denial of a request that cannot be judged."""
        coded = (
            failure
            if isinstance(failure, CodedError)
            else CodedError(
                Code.INVALID_INPUT, "The message of Envoy cannot be decoded.", repair=Repair(field=pointer())
            )
        )

        def read() -> ServerCall:
            raise coded

        decided = self._calls.decide(read, self._caller, SECONDS)
        assert decided is not None  # noqa: S101 - a failure is a decision
        return _denied(None, decided.call.decision.envelope)


def _check_mode(message: pb.ProcessingRequest) -> None:
    if message.observability_mode:
        raise CodedError(
            Code.INVALID_INPUT,
            "In observability_mode Envoy waits for no answer.",
            repair=Repair(field=pointer()),
        )
    if message.HasField("protocol_config") and (
        message.protocol_config.request_body_mode != pb.BODY_SEND_MODE_BUFFERED
    ):
        raise CodedError(
            Code.INVALID_INPUT,
            "The filter's request_body_mode must be BUFFERED.",
            repair=Repair(field=pointer()),
        )


def _check_headers(headers: pb.HttpHeaders) -> None:
    """Raise CodedError for a body that would be read differently from UTF-8, or that is no body."""
    for header in headers.headers.headers:
        name = header.key.lower()
        value = (header.raw_value or header.value.encode()).decode("latin-1").strip().lower()
        if name == "content-encoding" and value not in {"", "identity"}:
            raise CodedError(
                Code.INVALID_INPUT,
                "The body has a content encoding, so that it cannot be judged.",
                repair=Repair(field=pointer()),
            )
        if name == "content-type" and not _is_utf8(value):
            raise CodedError(
                Code.INVALID_INPUT,
                "The body has another character encoding than UTF-8.",
                repair=Repair(field=pointer()),
            )
        if name == "upgrade" or (name == ":method" and value == "connect"):
            raise CodedError(
                Code.INVALID_INPUT,
                "The connection changes its protocol, so that it cannot be judged.",
                repair=Repair(field=pointer()),
            )


def _is_utf8(content_type: str) -> bool:
    parameters = [part.partition("=") for part in content_type.split(";")[1:]]
    charsets = [value.strip().strip('"') for name, _, value in parameters if name.strip() == "charset"]
    return all(each in _UTF8 for each in charsets)


def _continued(phase: str) -> pb.ProcessingResponse:
    if phase.endswith("trailers"):
        return pb.ProcessingResponse(**{phase: pb.HttpTrailers()})  # type: ignore[arg-type]  # by its name
    return pb.ProcessingResponse(**{phase: pb.PhaseResponse()})  # type: ignore[arg-type]  # as above


def _denied(answered: str | int | None, envelope: Mapping[str, Any]) -> pb.ProcessingResponse:
    """Return the response to the client: the result of its call, or an error where there is no call to answer."""
    body: dict[str, Any] = {"jsonrpc": "2.0", "id": answered}
    if answered is None:
        body["error"] = {"code": INVALID_REQUEST, "message": f"{envelope['code']}: {envelope['error']}"}
        body["error"]["data"] = envelope
    else:
        body["result"] = to_call_tool_result(envelope)
    return pb.ProcessingResponse(
        immediate_response=pb.ImmediateResponse(
            status=pb.HttpStatus(code=400 if answered is None else 200),
            headers=_header("content-type", "application/json"),
            body=as_json(body),
            details="evalward",
        )
    )


def _header(name: str, value: str) -> pb.HeaderMutation:
    header = pb.HeaderValue(key=name, raw_value=value.encode("ascii"))
    overwrite = pb.HeaderValueOption.APPEND_ACTION_OVERWRITE_IF_EXISTS_OR_ADD
    return pb.HeaderMutation(set_headers=[pb.HeaderValueOption(header=header, append_action=overwrite)])
