"""The list of a server's tools is whole only when all pages of one list have come."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("mcp_types")

from evalward.proxy.listing import MOST_TOOLS, Listing


def page(*names: str, following: str | None = None) -> dict[str, Any]:
    tools = [{"name": name, "inputSchema": {"type": "object"}} for name in names]
    return {"tools": tools} | ({} if following is None else {"nextCursor": following})


def names(listing: Listing) -> list[str] | None:
    return None if listing.tools is None else [tool["name"] for tool in listing.tools]


def test_pages_of_two_lists_at_once_lose_no_tool() -> None:
    listing = Listing()
    listing.page(page("a", following="own-2"), cursor=None)
    listing.page(page("b", following="own-3"), cursor="own-2")
    listing.page(page("a", following="clients-2"), cursor=None)
    assert names(listing) is None
    listing.page(page("c"), cursor="own-3")
    assert names(listing) == ["a", "b", "c"]


def test_a_page_of_an_unknown_list_completes_nothing() -> None:
    listing = Listing()
    listing.page(page("c"), cursor="unknown")
    assert names(listing) is None


def test_too_many_tools_stay_unknown() -> None:
    listing = Listing()
    listing.page(page(*map(str, range(MOST_TOOLS + 1))), cursor=None)
    assert names(listing) is None


def test_a_change_forgets_the_tools() -> None:
    listing = Listing()
    listing.page(page("a"), cursor=None)
    listing.stale()
    assert names(listing) is None
