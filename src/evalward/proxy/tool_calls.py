"""The request ``tools/call``: its name and arguments, and the same request with other texts in some fields."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from evalward.jsonrpc_names import param_meant_by
from evalward.proxy.messages import INVALID_PARAMS, MalformedMessageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evalward.proxy.messages import Message


class ToolCall(NamedTuple):
    """A call of the tool ``name``; ``arguments`` are empty where the request has none."""

    name: str
    arguments: dict[str, Any]


def read_call(message: Message) -> ToolCall:
    """Return the call that ``message`` asks for; raise MalformedMessageError when it is none."""
    from mcp_types import CallToolRequestParams  # noqa: PLC0415 - not before the server has started
    from pydantic import ValidationError  # noqa: PLC0415 - as above

    params = message.body.get("params")
    if not isinstance(params, dict):
        raise MalformedMessageError(INVALID_PARAMS, "tools/call needs params, an object.", message.id)
    for key in params:
        meant = param_meant_by(key)
        if meant is not None:
            raise MalformedMessageError(
                INVALID_PARAMS, f"A key of params can be taken for {meant}.", message.id
            )
    try:
        # Texts are not converted: {"name": 1} is an error here as it is at the server.
        call = CallToolRequestParams.model_validate(params, strict=True)
    except ValidationError as error:
        places = ", ".join(dict.fromkeys("/".join(map(str, each["loc"])) for each in error.errors()))
        raise MalformedMessageError(
            INVALID_PARAMS, f"The params of tools/call are invalid: {places}.", message.id
        ) from None
    return ToolCall(call.name, params.get("arguments") or {})


def with_texts(message: Message, texts: Mapping[str, str]) -> bytes:
    """Return the line of ``message`` with ``texts`` in its arguments, by their JSON Pointers.

    Raises ValueError for a number beyond a double, which would be written as no JSON.
    """
    from evalward.tools.projection import with_values  # noqa: PLC0415 - not before the server has started

    params = message.body["params"]
    changed = {**params, "arguments": with_values(params["arguments"], texts)}
    # ASCII alone: no reader ends a line within it.
    text = json.dumps({**message.body, "params": changed}, separators=(",", ":"), allow_nan=False)
    return text.encode() + b"\n"
