"""One session between a client and a server: what is sent for each message. Pure but for the guard that it asks.

Both directions go through byte for byte, with these exceptions. From the client: a refused or denied message is
answered here and does not reach the server; an allowed call has hardened programs in place of its code. From the
server: hidden tools are taken out of ``tools/list``; a denial at run time becomes an envelope; a quoted program becomes
the payload; answers to the proxy's own requests are kept.
"""

from __future__ import annotations

import json
import secrets
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from evalward.jsonrpc_names import CALL
from evalward.proxy.answers import denied, line_of, refused, tools_request
from evalward.proxy.echoes import with_payloads
from evalward.proxy.lines import one_line
from evalward.proxy.messages import INVALID_REQUEST, Kind, MalformedMessageError, read_message
from evalward.proxy.run_time import construct_denied
from evalward.proxy.tool_calls import read_call

if TYPE_CHECKING:
    from collections.abc import Callable

    from evalward.proxy.judge import CallJudge, HardenedRun
    from evalward.proxy.lines import Line
    from evalward.proxy.listing import Listing
    from evalward.proxy.messages import Id, Message

MOST_IN_FLIGHT: Final = 4096
"""Requests of a client that the server has not answered."""
_LIST: Final = "tools/list"
_INTRODUCTIONS: Final = frozenset({"initialize", "server/discover"})
_LIST_CHANGED: Final = b"list_changed"


class Sends(NamedTuple):
    """The lines to send, each whole or empty. ``waits_for_tools``: give the same line again once they are known."""

    server: bytes = b""
    client: bytes = b""
    waits_for_tools: bool = False


@dataclass(frozen=True, slots=True)
class _Pending:
    """A request that the server has not answered: ``cursor`` of a list, ``run`` of a call with hardened programs."""

    method: str
    cursor: str | None = None
    run: HardenedRun | None = None


class Session:
    """The messages of one session. Lines of the client come on one thread, lines of the server on another.

    ``judge`` waits until there is one: messages pass while the guard is being built, and calls do not.
    """

    def __init__(self, judge: Callable[[], CallJudge], listing: Listing) -> None:
        self._judge = judge
        self._listing = listing
        self._lock = threading.Lock()
        self._pending: dict[Id, _Pending] = {}
        self._own_prefix = f"evalward-{secrets.token_hex(8)}-"
        self._own_count = 0
        self._is_asking = False

    def from_client(self, line: Line, *, is_last_try: bool = False) -> Sends:
        """Return what is sent for a client's ``line``. ``is_last_try``: do not wait for the list of tools."""
        if line.is_too_long:
            return Sends(client=refused(MalformedMessageError(INVALID_REQUEST, "The message is too long.")))
        if not line.data.strip():
            return Sends()
        try:
            message = read_message(line.data)
            if message.kind is Kind.REQUEST:
                return self._request(message, line.data, is_last_try=is_last_try)
        except MalformedMessageError as refusal:
            return Sends(client=refused(refusal))
        if message.method == CALL:
            return Sends(client=refused(MalformedMessageError(INVALID_REQUEST, "A tool call needs an id.")))
        if message.method == "notifications/cancelled":
            self._cancelled(message)
        return Sends(server=one_line(line.data))

    def from_server(self, data: bytes) -> Sends:
        """Return what is sent for a server's line; a line that is no message goes to the client as it is."""
        answer = _object_in(data)
        if answer is None:
            return Sends(client=data)
        if "method" in answer:
            if _LIST_CHANGED in data and answer["method"] == "notifications/tools/list_changed":
                self._listing.stale()
            return Sends(client=data)
        pending = self._answered(answer.get("id"))
        if pending is None:
            return Sends(client=data)
        result = answer.get("result")
        if pending.method == _LIST:
            return self._listed(answer, data, pending)
        if pending.method in _INTRODUCTIONS and isinstance(result, dict):
            self._listing.introduced(result)
        elif pending.run is not None:
            return self._ran(answer, data, pending.run)
        return Sends(client=data)

    def _ran(self, answer: dict[str, Any], data: bytes, run: HardenedRun) -> Sends:
        construct = construct_denied(answer)
        if construct is not None:
            return Sends(client=denied(answer["id"], self._judge().denied_at_run_time(run, construct)))
        shown, is_changed = with_payloads(answer, run.programs)
        return Sends(client=line_of(shown) if is_changed else data)

    def _request(self, message: Message, data: bytes, *, is_last_try: bool) -> Sends:
        self._check_id(message)
        if message.method != CALL:
            params = message.body.get("params")
            cursor = params.get("cursor") if isinstance(params, dict) else None
            self._forwarded(message, _Pending(message.method, None if cursor is None else str(cursor)))
            return Sends(server=one_line(data))
        call = read_call(message)
        if self._listing.tools is None and not is_last_try:
            return Sends(server=self._ask_for_tools(), waits_for_tools=True)
        judged = self._judge().judge(message, call)
        if judged.envelope is not None:
            return Sends(client=denied(message.id, judged.envelope))
        self._forwarded(message, _Pending(CALL, run=judged.run))
        return Sends(server=one_line(data) if judged.line is None else judged.line)

    def _check_id(self, message: Message) -> None:
        with self._lock:
            if message.id in self._pending or str(message.id).startswith(self._own_prefix):
                # No id in the refusal: the client would read it as the answer to its first request.
                raise MalformedMessageError(
                    INVALID_REQUEST, "The id is that of a request without an answer yet."
                )
            if len(self._pending) >= MOST_IN_FLIGHT:
                why = f"{MOST_IN_FLIGHT} requests have no answer yet."
                raise MalformedMessageError(INVALID_REQUEST, why, message.id)

    def _forwarded(self, message: Message, pending: _Pending) -> None:
        if message.id is not None:
            with self._lock:
                self._pending[message.id] = pending

    def _cancelled(self, message: Message) -> None:
        """Forget a request that the client no longer waits for: the server may leave it without an answer."""
        params = message.body.get("params")
        id_ = params.get("requestId") if isinstance(params, dict) else None
        if isinstance(id_, (str, int)) and not isinstance(id_, bool):
            with self._lock:
                self._pending.pop(id_, None)

    def _answered(self, id_: Any) -> _Pending | None:
        if not isinstance(id_, (str, int)) or isinstance(id_, bool):
            return None
        with self._lock:
            return self._pending.pop(id_, None)

    def stop_asking(self) -> None:
        """Forget the proxy's own request for the tools: no answer to it will come."""
        with self._lock:
            self._is_asking = False
            for id_ in [each for each in self._pending if str(each).startswith(self._own_prefix)]:
                del self._pending[id_]

    def _ask_for_tools(self, cursor: str | None = None) -> bytes:
        """Return the proxy's own request for the tools; empty while one is in flight."""
        with self._lock:
            if self._is_asking and cursor is None:
                return b""
            self._is_asking = True
            self._own_count += 1
            id_ = f"{self._own_prefix}{self._own_count}"
            self._pending[id_] = _Pending(_LIST, cursor)
        return tools_request(id_, cursor)

    def _listed(self, answer: dict[str, Any], data: bytes, pending: _Pending) -> Sends:
        result = answer.get("result")
        is_own = str(answer["id"]).startswith(self._own_prefix)
        is_page = isinstance(result, dict) and self._listing.page(result, cursor=pending.cursor)
        if is_own:
            cursor = result.get("nextCursor") if is_page and isinstance(result, dict) else None
            if isinstance(cursor, str):
                return Sends(server=self._ask_for_tools(cursor))
            self.stop_asking()
            return Sends()
        if not is_page or not isinstance(result, dict):
            return Sends(client=data)
        hidden = self._judge().hidden()
        shown = [tool for tool in result["tools"] if tool["name"] not in hidden]
        if len(shown) == len(result["tools"]):
            return Sends(client=data)
        return Sends(client=line_of({**answer, "result": {**result, "tools": shown}}))


def _object_in(data: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
