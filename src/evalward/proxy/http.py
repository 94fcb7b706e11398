"""The proxy in front of a server at a URL: MCP's streamable HTTP, a session for each ``Mcp-Session-Id``.

Every POST is judged as a line is. Answers come as JSON or as server-sent events; both are read message by message.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final

import anyio.to_thread
import httpx2
from starlette.applications import Starlette
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from evalward.proxy.answers import refused
from evalward.proxy.http_headers import (
    SESSION,
    check_mirrored,
    is_from_a_page_elsewhere,
    mirrors,
    of_a_list,
    passed_on,
)
from evalward.proxy.lines import MOST_LINE_BYTES, Line
from evalward.proxy.listing import LIST_SECONDS, Listing
from evalward.proxy.messages import MalformedMessageError, read_message
from evalward.proxy.session import Session
from evalward.proxy.sse import EventReader, EventTooLargeError, data_of, with_data

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from starlette.requests import Request

    from evalward.proxy.judge import CallJudge
    from evalward.proxy.session import Sends

LOG: Final = logging.getLogger("evalward.proxy")
MOST_SESSIONS: Final = 1024
MOST_PAGES: Final = 64
_JSON: Final = "application/json"
_EVENTS: Final = "text/event-stream"
_SECONDS: Final = httpx2.Timeout(30.0, read=None)


class HttpProxy:
    """Forwards to ``url`` what may pass; ``hosts`` are the names under which clients call this end.

    ``judge_for`` makes the judge of one session from what its server lists.
    """

    def __init__(self, url: str, judge_for: Callable[[Listing], CallJudge], *, hosts: frozenset[str]) -> None:
        self._url = url
        self._judge_for = judge_for
        self._hosts = hosts
        self._sessions: OrderedDict[str, tuple[Session, Listing]] = OrderedDict()
        # A proxy of the environment must not read payloads; a redirect could lead elsewhere.
        self._client = httpx2.AsyncClient(timeout=_SECONDS, trust_env=False, follow_redirects=False)

    def app(self) -> Starlette:
        """Return the ASGI application; it has one path, that of the URL."""
        path = httpx2.URL(self._url).path
        return Starlette(routes=[Route(path, self._answer, methods=["GET", "POST", "DELETE"])])

    async def close(self) -> None:
        """Close the connections to the server."""
        await self._client.aclose()

    async def _answer(self, request: Request) -> Response:
        if is_from_a_page_elsewhere(request.headers, self._hosts):
            return Response("Evalward refuses requests of pages.", status_code=403)
        try:
            if request.method == "POST":
                return await self._posted(request)
            return await self._forwarded(request, None, *self._session(request))
        except httpx2.HTTPError as error:
            LOG.error("the server cannot be reached: %s", type(error).__name__)  # noqa: TRY400 - the cause is enough
            return Response("Evalward cannot reach the server.", status_code=502)

    async def _posted(self, request: Request) -> Response:
        body = await _body(request)
        session, listing = self._session(request)
        line = Line(b"", is_too_long=True) if body is None else Line(body)
        try:
            if body is not None and mirrors(request.headers):
                check_mirrored(request.headers, read_message(body))
        except MalformedMessageError as refusal:
            return _own(refused(refusal))
        sends = await anyio.to_thread.run_sync(session.from_client, line)
        if sends.waits_for_tools:
            if sends.server:
                await self._list_tools(request, session, sends)
            else:  # another call of the session asks
                await anyio.to_thread.run_sync(listing.wait, LIST_SECONDS)
            sends = await anyio.to_thread.run_sync(lambda: session.from_client(line, is_last_try=True))
        if sends.client:
            return _own(sends.client)
        return await self._forwarded(request, sends.server, session, listing)

    def _session(self, request: Request) -> tuple[Session, Listing]:
        """Return the session that ``request`` names; one without a name is a session of its own."""
        name = request.headers.get(SESSION)
        if name is not None and name in self._sessions:
            self._sessions.move_to_end(name)
            return self._sessions[name]
        listing = Listing()
        judge = self._judge_for(listing)
        made = Session(lambda: judge, listing), listing
        if name is not None:
            self._keep(name, made)
        return made

    def _keep(self, name: str, made: tuple[Session, Listing]) -> None:
        self._sessions[name] = made
        while len(self._sessions) > MOST_SESSIONS:
            self._sessions.popitem(last=False)

    async def _list_tools(self, request: Request, session: Session, sends: Sends) -> None:
        """Ask the server for its tools in the client's session."""
        try:
            await self._pages(of_a_list(request.headers), session, sends)
        finally:
            session.stop_asking()

    async def _pages(self, headers: list[tuple[str, str]], session: Session, sends: Sends) -> None:
        for _ in range(MOST_PAGES):
            answer = await self._client.post(self._url, headers=headers, content=sends.server)
            reader = EventReader()
            is_stream = _kind(answer) == _EVENTS
            messages = (
                [data_of(each) for each in reader.events(answer.content)] if is_stream else [answer.content]
            )
            said = [session.from_server(each) for each in messages if each]
            following = [each for each in said if each.server]
            if not following:
                return
            sends = following[-1]

    async def _forwarded(
        self, request: Request, content: bytes | None, session: Session, listing: Listing
    ) -> Response:
        asked = self._client.build_request(
            request.method, self._url, headers=passed_on(request.headers.items()), content=content
        )
        answer = await self._client.send(asked, stream=True)
        headers = dict(passed_on(answer.headers.multi_items()))
        name = answer.headers.get(SESSION)
        if name is not None and name not in self._sessions:
            self._keep(name, (session, listing))
        if request.method == "DELETE" and answer.is_success:
            self._sessions.pop(request.headers.get(SESSION, ""), None)
        if _kind(answer) == _EVENTS:
            return StreamingResponse(_events(answer, session), answer.status_code, headers)
        body = await answer.aread()
        await answer.aclose()
        if _kind(answer) == _JSON and body:
            body = (await anyio.to_thread.run_sync(session.from_server, body)).client
        return Response(body, answer.status_code, headers)


async def _events(answer: httpx2.Response, session: Session) -> AsyncIterator[bytes]:
    reader = EventReader()
    try:
        async for chunk in answer.aiter_bytes():
            for event in reader.events(chunk):
                yield await _shown(event, session)
    except (httpx2.HTTPError, EventTooLargeError) as error:
        LOG.error("a stream of the server ends: %s", type(error).__name__)  # noqa: TRY400 - the cause is enough
    finally:
        await answer.aclose()


async def _shown(event: bytes, session: Session) -> bytes:
    data = data_of(event)
    if not data:
        return event
    shown = (await anyio.to_thread.run_sync(session.from_server, data)).client
    return event if shown == data else with_data(event, shown.rstrip(b"\n"))


async def _body(request: Request) -> bytes | None:
    """Return the body, None for one that is too long."""
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > MOST_LINE_BYTES:
            return None
        parts.append(part)
    return b"".join(parts)


def _own(line: bytes) -> Response:
    return Response(line, media_type=_JSON)


def _kind(answer: httpx2.Response) -> str:
    found: Any = answer.headers.get("content-type", "")
    return str(found).partition(";")[0].strip().lower()
