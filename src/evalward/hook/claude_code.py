"""Claude Code: the hook PreToolUse, for the tools of MCP servers, ``mcp__SERVER__TOOL``.

An allow prints nothing, so that the user's own permissions decide: ``allow`` would skip the prompt. A program to run
instead is handed over with ``ask``, which shows it: without a decision the product may ignore it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from evalward.hook.call import (
    Answer,
    HookCall,
    Outcome,
    arguments_of,
    as_json,
    id_of,
    member,
    read_object,
    reason_of,
    text_of,
    unreadable,
)
from evalward.tools.servers import Named

if TYPE_CHECKING:
    from collections.abc import Mapping

TAKES_PROGRAMS: Final = True
EVENT: Final = "PreToolUse"
PREFIX: Final = "mcp__"
_SEPARATOR: Final = "__"


def read(text: bytes) -> HookCall:
    """Return the call in the hook's input; raise CodedError."""
    body = read_object(text)
    name = tool_name(body)
    if not name.startswith(PREFIX):
        return HookCall(())
    return hook_call(body, readings(name))


def readings(name: str) -> tuple[Named, ...]:
    """Return every way to split ``mcp__SERVER__TOOL``: both parts may have the separator in them."""
    parts = name.removeprefix(PREFIX).split(_SEPARATOR)
    found = tuple(
        Named(server, tool)
        for at in range(1, len(parts))
        if (server := _SEPARATOR.join(parts[:at])) and (tool := _SEPARATOR.join(parts[at:]))
    )
    if not found:
        raise unreadable("names a tool of an MCP server without the server or the tool")
    return found


def tool_name(body: Mapping[str, Any]) -> str:
    """Return the tool's name; raise CodedError for another event or a name that is no text."""
    event = text_of(body, "hook_event_name", "hookEventName")
    if event != EVENT:
        raise unreadable(f"is about another event than {EVENT}")
    return text_of(body, "tool_name")


def hook_call(body: Mapping[str, Any], named: tuple[Named, ...]) -> HookCall:
    """Return the call of an MCP tool with these readings; raise CodedError."""
    if "tool_input" not in body:
        raise unreadable("has no tool_input")
    return HookCall(
        named,
        arguments_of(member(body, "tool_input")),
        id_of(body, "session_id", "sessionId"),
        id_of(body, "tool_use_id"),
    )


def answer(outcome: Outcome) -> Answer:
    """Return what the product reads on stdout."""
    if not outcome.allowed:
        return _decided("deny", reason_of(outcome.envelope))
    if outcome.arguments is None:
        return Answer(b"")
    return _decided(
        "ask", "Evalward: the code runs as a hardened program.", updatedInput=dict(outcome.arguments)
    )


def _decided(decision: str, reason: str, **more: Any) -> Answer:
    body = {
        "hookEventName": EVENT,
        "permissionDecision": decision,
        "permissionDecisionReason": reason,
        **more,
    }
    return Answer(as_json({"hookSpecificOutput": body}))
