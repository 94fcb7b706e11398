"""Cursor: the hook beforeMCPExecution. Every decision is said, since Cursor has no silent answer.

Its answer has no place for other arguments, so a policy that requires hardened programs denies every call with code.
``allow`` does not skip Cursor's own list of permitted tools.
"""

from __future__ import annotations

from typing import Final

from evalward.hook.call import (
    Answer,
    HookCall,
    Outcome,
    arguments_of,
    as_json,
    brief,
    id_of,
    read_object,
    reason_of,
    text_of,
    unreadable,
)
from evalward.tools.servers import Named

TAKES_PROGRAMS: Final = False
EVENT: Final = "beforeMCPExecution"
_PREFIX: Final = "MCP:"


def read(text: bytes) -> HookCall:
    """Return the call in the hook's input; raise CodedError."""
    body = read_object(text)
    if text_of(body, "hook_event_name") != EVENT:
        raise unreadable(f"is about another event than {EVENT}")
    if "tool_input" not in body:
        raise unreadable("has no tool_input")
    return HookCall(
        _readings(text_of(body, "tool_name")),
        _arguments(body["tool_input"]),
        id_of(body, "conversation_id"),
        id_of(body, "generation_id"),
    )


def answer(outcome: Outcome) -> Answer:
    """Return what Cursor reads on stdout."""
    if outcome.allowed:
        return Answer(as_json({"permission": "allow"}))
    return Answer(
        as_json(
            {
                "permission": "deny",
                "user_message": brief(outcome.envelope),
                "agent_message": reason_of(outcome.envelope),
            }
        )
    )


def _readings(name: str) -> tuple[Named, ...]:
    """Return the readings of ``TOOL``, ``MCP:TOOL`` or ``MCP:SERVER:TOOL``."""
    parts = name.removeprefix(_PREFIX).split(":", 1) if name.startswith(_PREFIX) else [name]
    if not all(parts):
        raise unreadable("names a tool of an MCP server without the server or the tool")
    return (Named(parts[0], parts[1]) if len(parts) > 1 else Named(None, parts[0]),)


def _arguments(value: object) -> bytes:
    """Return the arguments, which Cursor gives as an object, or as the text of one; an empty text is none."""
    if isinstance(value, str):
        return arguments_of(read_object(value.encode("utf-8")) if value.strip() else {})
    return arguments_of(value)
