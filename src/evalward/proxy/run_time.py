"""The answer to a call whose code was replaced: whether the hardened program was denied something while it ran."""

from __future__ import annotations

from typing import Any, Final

_MOST_TEXT: Final = 16_384


def construct_denied(answer: dict[str, Any]) -> str | None:
    """Return the construct that the JSON-RPC response ``answer`` says was denied; None for any other answer."""
    from mcp_types import CallToolResult, TextContent  # noqa: PLC0415 - not before the server has started
    from pydantic import ValidationError  # noqa: PLC0415 - as above

    from evalward.errors import denied_construct  # noqa: PLC0415 - as above

    error = answer.get("error")
    if isinstance(error, dict) and isinstance(error.get("message"), str):
        return denied_construct(error["message"][:_MOST_TEXT])
    try:
        result = CallToolResult.model_validate(answer.get("result"))
    except ValidationError:
        return None
    for block in result.content:
        if isinstance(block, TextContent):
            found = denied_construct(block.text[:_MOST_TEXT])
            if found is not None:
                return found
    return None
