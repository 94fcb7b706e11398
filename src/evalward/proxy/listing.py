"""The tools of the server as its answers tell them: its name, and the entries of ``tools/list`` over all pages."""

from __future__ import annotations

import threading
from typing import Any

MOST_TOOLS = 4096


class Listing:
    """What the server has said of itself.

    Thread-safe: answers come on one thread, calls on another.
    """

    def __init__(self) -> None:
        self.server: str | None = None
        self._pages: list[dict[str, Any]] = []
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

    def page(self, result: dict[str, Any], *, is_first: bool) -> bool:
        """Take one page of ``tools/list``; return whether it was one, and not of another list."""
        from mcp_types import ListToolsResult  # noqa: PLC0415 - not before the server has started
        from pydantic import ValidationError  # noqa: PLC0415 - as above

        try:
            ListToolsResult.model_validate(result)
        except ValidationError:
            return False
        with self._changed:
            if is_first:
                self._pages = []
            self._pages += result["tools"]
            if len(self._pages) > MOST_TOOLS:
                return False
            if not result.get("nextCursor"):
                self._tools = tuple(self._pages)
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
