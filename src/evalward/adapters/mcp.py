"""Converts an envelope to the result of an MCP tool call; a failed call is a result, not a protocol error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalward.errors import JsonValue, canonical_json
from evalward.errors.canonical import to_json_object

if TYPE_CHECKING:
    from collections.abc import Mapping


def to_call_tool_result(envelope: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Return ``{content, structuredContent, isError}`` (MCP CallToolResult) for ``envelope``.

    The structured content is the envelope itself. The text is what a model sees: what happened, the hint, the
    next actions, and the whole envelope as JSON. Raise NotJsonError when it is not JSON, and ValueError when its
    ``ok`` is neither true nor false.
    """
    plain = to_json_object(envelope)
    ok = plain.get("ok")
    if ok is not True and ok is not False:
        raise ValueError("ok must be true or false in an envelope")
    text = canonical_json(plain).decode()
    return {
        "content": [{"type": "text", "text": text if ok else f"{_error_text(plain)}\n\n{text}"}],
        "structuredContent": plain,
        "isError": not ok,
    }


def _error_text(envelope: Mapping[str, Any]) -> str:
    """Return the text of an error envelope, one item per line."""
    lines = [f"{envelope.get('code')}: {envelope.get('error')}", f"Hint: {envelope.get('hint')}"]
    actions = envelope.get("next_actions") or []
    if actions:
        lines += ["Next actions:", *(f"- {action}" for action in actions)]
    return "\n".join(lines)
