"""agentgateway's policy protocol for MCP on the gRPC listener: ``agentgateway.dev.ext_mcp.ExtMcp``.

CheckRequest judges tools/call; CheckResponse takes the tools out of tools/list that the policy would always deny. Other
methods pass. The gateway has parsed the messages, so that it never sends two readings of one.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import grpc
from google.protobuf.message import DecodeError

from evalward.errors import REGISTRY, Code, CodedError, Repair, pointer
from evalward.gateways.v1 import ext_mcp_pb2 as pb
from evalward.server.decide.server_calls import ServerCall
from evalward.server.requests.jsonrpc_request import as_json, is_tool_call, read_json, tool_call
from evalward.server.transport.door_calls import DoorCalls
from evalward.server.transport.rpc_call import remaining_seconds
from evalward.tools.servers import Named

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evalward.server.requests.jsonrpc_request import ToolCall
    from evalward.server.transport.guard_service import GuardService
    from evalward.server.transport.pending_requests import PendingRequests

SERVICE_NAME: Final = "agentgateway.dev.ext_mcp.ExtMcp"
RPC: Final = "ExtMcp"
TOOLS_LIST: Final = "tools/list"
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
_DELIMITER: Final = "_"
"""Between the name of a server and that of its tool, where the gateway merges several servers."""


class ExtMcp:
    """The handlers of the protocol for one server."""

    def __init__(self, service: GuardService) -> None:
        self._calls = DoorCalls(service, RPC)

    def handler(self, pending_requests: PendingRequests) -> grpc.GenericRpcHandler[Any, Any]:
        """Return the handler to add to a server."""
        return grpc.method_handlers_generic_handler(
            SERVICE_NAME,
            {
                "CheckRequest": pending_requests.unary(
                    self.check_request, response_serializer=pb.McpRequestResult.SerializeToString
                ),
                "CheckResponse": pending_requests.unary(
                    self.check_response, response_serializer=pb.McpResponseResult.SerializeToString
                ),
            },
        )

    def check_request(self, wire: bytes, context: grpc.ServicerContext) -> pb.McpRequestResult:
        """Judge a tools/call; other requests pass."""
        caller = self._calls.service.admit(RPC, context).caller
        asked: list[ToolCall] = []

        def read() -> ServerCall | None:
            request = _decoded(pb.McpRequest, wire)
            if not is_tool_call(request.method):
                return None
            if len(request.service_names) != 1 or not request.service_names[0]:
                raise CodedError(
                    Code.INVALID_INPUT,
                    "The call is not for exactly one server.",
                    repair=Repair(field=pointer()),
                )
            asked.append(tool_call(read_json(request.mcp_request, "params")))
            reading = Named(request.service_names[0], asked[0].name)
            return ServerCall((reading,), asked[0].arguments_json)

        decided = self._calls.decide(read, caller, remaining_seconds(context))
        if decided is None:
            return pb.McpRequestResult(**_PASS)
        if not decided.allowed:
            return pb.McpRequestResult(error=_error(decided.call.decision.envelope))
        if decided.arguments is None:
            return pb.McpRequestResult(**_PASS)
        return pb.McpRequestResult(mutated=as_json(asked[0].with_arguments(decided.arguments)))

    def check_response(self, wire: bytes, context: grpc.ServicerContext) -> pb.McpResponseResult:
        """Return a tools/list without the tools that are always denied; other results pass."""
        caller = self._calls.service.admit(RPC, context).caller
        result: list[pb.McpResponseResult] = []

        def read() -> None:
            result.append(self._filtered(_decoded(pb.McpResponse, wire)))

        refused = self._calls.decide(read, caller, remaining_seconds(context))
        if refused is not None:
            return pb.McpResponseResult(error=_error(refused.call.decision.envelope))
        return result[0]

    def _filtered(self, response: pb.McpResponse) -> pb.McpResponseResult:
        if response.method != TOOLS_LIST:
            return pb.McpResponseResult(**_PASS)
        listed = _result(response.mcp_response)
        tools = listed["tools"]
        kept = [each for each in tools if self._is_shown(each, [*response.service_names])]
        if len(kept) == len(tools):
            return pb.McpResponseResult(**_PASS)
        return pb.McpResponseResult(mutated=as_json({**listed, "tools": kept}))

    def _is_shown(self, entry: Mapping[str, Any], servers: list[str]) -> bool:
        name = entry["name"]
        readings = [
            Named(server, name.removeprefix(f"{server}{_DELIMITER}"))
            for server in servers
            if len(servers) == 1 or name.startswith(f"{server}{_DELIMITER}")
        ]
        calls = self._calls.service.active_policy.server_calls
        return bool(readings) and all(map(calls.is_shown, readings))


_PASS: Final[Mapping[str, Any]] = {"pass": pb.Pass()}  # a keyword of Python


def _decoded(kind: type[Any], wire: bytes) -> Any:
    try:
        return kind.FromString(wire)
    except DecodeError:
        raise CodedError(
            Code.INVALID_INPUT, "The gateway's message cannot be decoded.", repair=Repair(field=pointer())
        ) from None


def _result(text: bytes) -> dict[str, Any]:
    """Return the result of a tools/list; raise CodedError when it has no list of named tools."""
    try:
        listed = json.loads(text)
    except (ValueError, RecursionError):
        listed = None
    tools = listed.get("tools") if isinstance(listed, dict) else None
    if not isinstance(tools, list) or not all(
        isinstance(each, dict) and isinstance(each.get("name"), str) for each in tools
    ):
        raise CodedError(
            Code.INVALID_INPUT,
            "The result of tools/list has no list of named tools.",
            repair=Repair(field=pointer()),
        )
    found: dict[str, Any] = listed
    return found


def _error(envelope: Mapping[str, Any]) -> pb.AuthorizationError:
    code = Code(envelope["code"])
    row = REGISTRY[code]
    kind = pb.AuthorizationError.AUTHORIZATION_CODE_PERMISSION_DENIED
    if code is Code.OVERLOADED:
        kind = pb.AuthorizationError.AUTHORIZATION_CODE_RESOURCE_EXHAUSTED
    elif code is Code.INVALID_INPUT:
        kind = pb.AuthorizationError.AUTHORIZATION_CODE_INVALID
    number = INTERNAL_ERROR if row.is_infrastructure else INVALID_PARAMS
    error = {"code": number, "message": f"{code}: {envelope['error']}", "data": envelope}
    return pb.AuthorizationError(code=kind, reason=str(code), mcp_error=as_json(error))
