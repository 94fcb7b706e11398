"""Who may talk to the page's server: the page itself, on this machine, with the token of its address.

Another page of the user's browser can send requests to a loopback port. It does not know the token, and a browser
says where its requests come from. A name that resolves to this machine (DNS rebinding) is not this machine's name.
"""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Final

from starlette.responses import PlainTextResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOSTS: Final = ("127.0.0.1", "localhost", "[::1]")
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types 'none'"
)
_HEADERS: Final = {
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class OwnPageOnly:
    """ASGI middleware: answers requests below ``/TOKEN/`` from the page's own origin, and no others."""

    def __init__(self, app: ASGIApp, *, token: str, nonce: str) -> None:
        self._app = app
        self._token = token
        self._headers = {**_HEADERS, "content-security-policy": _POLICY.format(nonce=nonce)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or pass the request on without the token in its path."""
        if scope["type"] != "http":
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        token, slash, rest = scope["path"].removeprefix("/").partition("/")
        if not (slash and hmac.compare_digest(token.encode(), self._token.encode())):
            await PlainTextResponse("not found", 404, self._headers)(scope, receive, send)
            return
        if not _is_own(headers, scope["method"]):
            await PlainTextResponse("forbidden", 403, self._headers)(scope, receive, send)
            return

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [(name.encode(), value.encode()) for name, value in self._headers.items()]
                message = {**message, "headers": [*message["headers"], *own]}
            await send(message)

        await self._app({**scope, "path": f"/{rest}"}, receive, answer)


def _is_own(headers: dict[str, str], method: str) -> bool:
    host = headers.get("host", "")
    name = host.rpartition(":")[0] or host
    if name not in HOSTS:
        return False
    if method in {"GET", "HEAD"}:
        return headers.get("sec-fetch-site", "none") in {"none", "same-origin"}
    return headers.get("origin") == f"http://{host}" and headers.get("content-type") == "application/json"
