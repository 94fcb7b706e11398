"""The tools of the server as its answers tell them: its name, and the entries of ``tools/list`` over all pages."""

from __future__ import annotations

import threading
from typing import Any, Final

from cachetools import LRUCache

MOST_TOOLS: Final = 4096
LIST_SECONDS: Final = 10.0
"""How long a call waits for the list of the server's tools."""
_LISTS_AT_ONCE: Final = 16


class Listing:
    """What the server has said of itself.

    Thread-safe: answers come on one thread, calls on another.
    """

    def __init__(self) -> None:
        self.server: str | None = None
        # By the cursor of the next page: the client and the proxy may go through the list at the same time.
        self._before: LRUCache[str, tuple[dict[str, Any], ...]] = LRUCache(_LISTS_AT_ONCE)
        self._tools: tuple[dict[str, Any], ...] | None = None
        self._changed = threading.Condition()

    @property
    def tools(self) -> tuple[dict[str, Any], ...] | None:
        """The entries of all pages, None while some are missing."""
        with self._changed:
            return self._tools

    def introduced(self, result: dict[str, Any]) -> None:
        """Take the server's name from the result of ``initialize`` or ``server/discover``."""
        info = result.get("serverInfo")
        name = info.get("name") if isinstance(info, dict) else None
        if isinstance(name, str):
            self.server = name

    def page(self, result: dict[str, Any], *, cursor: str | None) -> bool:
        """Take the page of ``tools/list`` that ``cursor`` asked for, None for the first; return whether it is one."""
        from mcp_types import ListToolsResult  # noqa: PLC0415 - not before the server has started
        from pydantic import ValidationError  # noqa: PLC0415 - as above

        try:
            ListToolsResult.model_validate(result)
        except ValidationError:
            return False
        following = result.get("nextCursor")
        with self._changed:
            before = () if cursor is None else self._before.get(cursor)
            if before is None or len(before) + len(result["tools"]) > MOST_TOOLS:
                return True  # the tools stay unknown: their calls are denied
            found = (*before, *result["tools"])
            if following:
                self._before[following] = found
            else:
                self._tools = found
                self._changed.notify_all()
        return True

    def stale(self) -> None:
        """Forget the tools: the server says that they changed."""
        with self._changed:
            self._tools = None

    def wait(self, seconds: float) -> bool:
        """Wait until all tools are known; false after ``seconds``."""
        with self._changed:
            return self._changed.wait_for(lambda: self._tools is not None, seconds)
