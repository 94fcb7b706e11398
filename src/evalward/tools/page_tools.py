"""Tools that a page registers while a server runs: the page chooses their names behind a prefix (WebMCP)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

PAGE_PREFIX: Final = "webmcp_"


def is_of_a_page(tool: Mapping[str, Any]) -> bool:
    """Return whether ``tool``, an entry of ``tools/list``, is one that a page registered."""
    return str(tool["name"]).startswith(PAGE_PREFIX)
