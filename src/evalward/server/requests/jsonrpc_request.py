"""Read a JSON-RPC message of the MCP as a gateway sends it; one that two readers could take differently is refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from evalward.errors import Code, CodedError, Repair
from evalward.jsonrpc_names import CALL, MEMBERS, looks_like_call, param_meant_by
from evalward.tools import read_arguments

if TYPE_CHECKING:
    from collections.abc import Mapping

_THE_ARGUMENTS: Final = "The arguments "


class ToolCall(NamedTuple):
    """A tools/call: its whole params, and from them the tool's name and the JSON of the arguments."""

    params: Mapping[str, Any]
    name: str
    arguments_json: bytes

    def with_arguments(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the params with other arguments."""
        return {**self.params, "arguments": arguments}


def read_message(body: bytes) -> dict[str, Any]:
    """Return the JSON-RPC message in ``body``; raise CodedError (INVALID_INPUT), for a batch too."""
    message = read_json(body, "message")
    unknown = [name for name in message if name not in MEMBERS]
    if unknown:
        raise _refused("has a member that JSON-RPC does not know")
    if message.get("jsonrpc") != "2.0":
        raise _refused("is not of JSON-RPC 2.0")
    if "method" in message and ("result" in message or "error" in message):
        raise _refused("is a request and a response at once")
    return message


def read_json(text: bytes, what: str) -> dict[str, Any]:
    """Return the JSON object in ``text``, read as strictly as arguments; raise CodedError."""
    try:
        return read_arguments(text, any_integer=True)
    except CodedError as refusal:
        reason = refusal.message.removeprefix(_THE_ARGUMENTS)
        raise CodedError(refusal.code, f"The JSON of the {what}: its values {reason}") from None


def is_tool_call(method: object) -> bool:
    """Return whether ``method`` is tools/call; raise CodedError for one that a server might take for it."""
    if not isinstance(method, str):
        raise _refused("has a method that is not a text")
    if looks_like_call(method):
        raise _refused(f"has a method that looks like {CALL}")
    return method == CALL


def tool_call(params: object) -> ToolCall:
    """Return the call in the params of a tools/call; raise CodedError."""
    if not isinstance(params, dict):
        raise _refused("has no object as params")
    for key in params:
        if (meant := param_meant_by(key)) is not None:
            raise _refused(f"has a name in params that looks like {meant}")
    name = params.get("name")
    if not isinstance(name, str) or not name:
        raise _refused("names no tool")
    arguments = params.get("arguments")
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, dict):
        raise _refused("has arguments that are not an object")
    return ToolCall(params, name, as_json(arguments))


def request_id(message: Mapping[str, Any]) -> str | int | None:
    """Return the id to answer, None for a message without one that can be answered."""
    value = message.get("id")
    return value if isinstance(value, (str, int)) and not isinstance(value, bool) else None


def as_json(value: Any) -> bytes:
    """Return ``value`` as JSON."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _refused(why: str) -> CodedError:
    return CodedError(Code.INVALID_INPUT, f"The message {why}.", repair=Repair(field="/"))
