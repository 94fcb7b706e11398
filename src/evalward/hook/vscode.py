"""VS Code: the hook PreToolUse, as in Claude Code, with names ``mcp_SERVER_TOOL`` in which the server's is cut.

VS Code takes the server's title or name and keeps 13 characters of it. A second server of the same beginning gets a
digit, which no configured name has: its calls are those of an unknown server.
"""

from __future__ import annotations

from typing import Final

from evalward.hook import claude_code
from evalward.hook.call import HookCall, read_object, unreadable
from evalward.tools.servers import VSCODE_LETTERS, Named

TAKES_PROGRAMS: Final = True
PREFIX: Final = "mcp_"
answer = claude_code.answer


def read(text: bytes) -> HookCall:
    """Return the call in the hook's input; raise CodedError."""
    body = read_object(text)
    name = claude_code.tool_name(body)
    if name.startswith(claude_code.PREFIX):
        return claude_code.hook_call(body, claude_code.readings(name))
    if not name.startswith(PREFIX):
        return HookCall(())
    return claude_code.hook_call(body, _readings(name))


def _readings(name: str) -> tuple[Named, ...]:
    rest = name.removeprefix(PREFIX)
    found = tuple(
        Named(rest[:at], rest[at + 1 :], is_cut=True)
        for at in range(1, min(len(rest) - 1, VSCODE_LETTERS + 1))
        if rest[at] == "_"
    )
    if not found:
        raise unreadable("names a tool of an MCP server without the server or the tool")
    return found
