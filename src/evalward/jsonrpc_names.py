"""The names in a JSON-RPC message of the MCP, and the spellings that a lenient reader takes for them."""

from __future__ import annotations

from typing import Final

from evalward.field_names import folded

CALL: Final = "tools/call"
MEMBERS: Final = frozenset({"jsonrpc", "id", "method", "params", "result", "error"})
"""All members of a message; another one may be meant for a reader that ignores case."""
_PARAMS: Final = {folded(name): name for name in ("name", "arguments", "task", "_meta")}


def looks_like_call(method: str) -> bool:
    """Return whether ``method`` is another spelling of ``tools/call``."""
    return method != CALL and folded(method) == folded(CALL)


def param_meant_by(key: str) -> str | None:
    """Return the member of a call's params of which ``key`` is another spelling, None for none."""
    meant = _PARAMS.get(folded(key), key)
    return None if meant == key else meant
