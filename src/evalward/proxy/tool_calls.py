"""The request ``tools/call``: its name and arguments, and the same request with other texts in some fields."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from evalward.proxy.messages import INVALID_PARAMS, MalformedMessageError, folded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evalward.proxy.messages import Message

_KNOWN: Final = {folded(name): name for name in ("name", "arguments", "task", "_meta")}


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
        meant = _KNOWN.get(folded(key), key)
        if meant != key:
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
    from evalward.tools.pointer import steps_of  # noqa: PLC0415 - not before the server has started

    body = copy.deepcopy(message.body)
    for pointer, text in texts.items():
        *above, last = steps_of(pointer)
        place: Any = body["params"]["arguments"]
        for step in above:
            place = place[_key(place, step)]
        place[_key(place, last)] = text
    # ASCII alone: no reader ends a line within it.
    return json.dumps(body, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _key(place: Any, step: str) -> str | int:
    return int(step) if isinstance(place, list) else step
