"""The lines that the proxy writes itself: denials as results of tools, refusals as errors, and its own requests."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from evalward.codes import Code

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evalward.proxy.messages import Id, MalformedMessageError


def line_of(body: Mapping[str, Any]) -> bytes:
    """Return ``body`` as a line."""
    return json.dumps(body, separators=(",", ":")).encode() + b"\n"


def denied(id_: Id | None, envelope: Mapping[str, Any]) -> bytes:
    """Return the line that answers the call ``id_`` with ``envelope``."""
    from evalward.adapters import to_call_tool_result  # noqa: PLC0415 - not before the server has started

    return line_of({"jsonrpc": "2.0", "id": id_, "result": to_call_tool_result(envelope)})


def refused(refusal: MalformedMessageError) -> bytes:
    """Return the line that refuses a message; its id is null where it is uncertain (JSON-RPC 2.0, section 5)."""
    error = {
        "code": refusal.number,
        "message": f"Evalward refuses the message: {refusal.reason}",
        "data": {"symbol": Code.INVALID_INPUT.value, "retryable": False, "sessionValid": True},
    }
    return line_of({"jsonrpc": "2.0", "id": refusal.id, "error": error})


def tools_request(id_: str, cursor: str | None) -> bytes:
    """Return the line that asks for the tools, from ``cursor`` on."""
    params = {} if cursor is None else {"params": {"cursor": cursor}}
    return line_of({"jsonrpc": "2.0", "id": id_, "method": "tools/list", **params})
