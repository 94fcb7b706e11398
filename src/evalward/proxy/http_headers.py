"""The headers of streamable HTTP: which ones go on, and which requests a page could have forged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from evalward.proxy.messages import INVALID_REQUEST, Kind, MalformedMessageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from evalward.proxy.messages import Message

SESSION: Final = "mcp-session-id"
_METHOD: Final = "mcp-method"
_NAME: Final = "mcp-name"
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
# RFC 9110, section 7.6.1, and what this end decides: where, how long, how encoded.
_OWN: Final = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "host",
        "content-length",
        "content-encoding",
        "accept-encoding",
        "date",
        "server",
    }
)


def passed_on(headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the headers for the other side."""
    return [(name, value) for name, value in headers if name.lower() not in _OWN]


def of_a_list(headers: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the headers of the proxy's own ``tools/list`` in the session of a call with ``headers``."""
    kept = [(name, value) for name, value in passed_on(headers.items()) if name not in {_METHOD, _NAME}]
    return [*kept, (_METHOD, "tools/list")] if _METHOD in headers else kept


def is_from_a_page_elsewhere(headers: Mapping[str, str], hosts: frozenset[str]) -> bool:
    """Whether a page of another origin sent the request, or one that rebound its name to this address.

    MCP 2025-11-25, transports, "Security Warning". ``hosts`` are the names under which this end may be called.
    """
    host = urlsplit(f"//{headers.get('host', '')}").hostname or ""
    origin = headers.get("origin")
    if host not in hosts:
        return True
    return origin is not None and (urlsplit(origin).hostname or "") not in hosts


def hosts_of(listen: str) -> frozenset[str]:
    """Return the names under which a listener at the host ``listen`` may be called."""
    return _LOOPBACK if listen in _LOOPBACK else frozenset({listen}) | _LOOPBACK


def mirrors(headers: Mapping[str, str]) -> bool:
    """Return whether ``headers`` repeat what the message says."""
    return _METHOD in headers or _NAME in headers


def check_mirrored(headers: Mapping[str, str], message: Message) -> None:
    """Raise MalformedMessageError when headers name another method or tool than ``message`` (MCP 2026-07-28)."""
    if message.kind is Kind.RESPONSE:
        return
    params = message.body.get("params")
    name = params.get("name", params.get("uri")) if isinstance(params, dict) else None
    for header, value in ((_METHOD, message.method), (_NAME, name)):
        if header in headers and headers[header] != value:
            why = f"The header {header} names something else than the message."
            raise MalformedMessageError(INVALID_REQUEST, why, message.id)
