"""The admin listener: ``/livez``, ``/readyz`` and ``/metrics`` over plain HTTP; nothing accepts a payload.

It may bind beyond loopback, since a kubelet probes the pod's address. Above ``MAX_CONNECTIONS`` the oldest connection
is closed for the newest, so that silent clients do not block probes.
"""

from __future__ import annotations

import json
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from prometheus_client.exposition import choose_encoder

from evalward.server.addresses import ListenError
from evalward.server.bounded_http import BoundedHttpServer
from evalward.server.observe.liveness import OK

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from prometheus_client import CollectorRegistry

    from evalward.server.addresses import TcpAddress, UnixAddress
    from evalward.server.observe.liveness import Liveness
    from evalward.server.observe.readiness import Readiness

MAX_CONNECTIONS: Final = 16
SILENT_SECONDS: Final = 5.0
PLAIN_TEXT: Final = "text/plain; charset=utf-8"


class Page(NamedTuple):
    """An HTTP response."""

    status: HTTPStatus
    content_type: str
    body: bytes


class AdminListener:
    """Serves ``pages`` on its own threads, from ``start`` to ``close``.

    A page is made by path from the ``Accept`` header of the request.
    """

    def __init__(self, address: TcpAddress | UnixAddress, pages: Mapping[str, Callable[[str], Page]]) -> None:
        """Bind ``address``; raise ListenError."""
        try:
            self._http = _HttpServer(address, pages)
        except OSError as failure:
            raise ListenError(f"cannot bind the admin listener to {address}: {failure.strerror}") from failure
        self.address = str(self._http.address)

    def start(self) -> None:
        """Start to serve; raise NoThreadError."""
        self._http.pool.prestart()
        self._http.begin()

    def close(self) -> None:
        """Stop serving and release the port."""
        self._http.end()


def server_pages(
    liveness: Liveness, readiness: Readiness, registry: CollectorRegistry
) -> Mapping[str, Callable[[str], Page]]:
    """Return the pages of one server."""
    return {
        "/livez": lambda _accept: _live_page(liveness),
        "/readyz": lambda _accept: _ready_page(readiness),
        "/metrics": lambda accept: _metrics_page(registry, accept),
    }


def _live_page(liveness: Liveness) -> Page:
    state = liveness.report()
    status = HTTPStatus.OK if state == OK else HTTPStatus.SERVICE_UNAVAILABLE
    return Page(status, PLAIN_TEXT, f"{state}\n".encode())


def _ready_page(readiness: Readiness) -> Page:
    report = readiness.report()
    status = HTTPStatus.OK if report.is_ready else HTTPStatus.SERVICE_UNAVAILABLE
    return Page(status, "application/json", json.dumps(report.body()).encode() + b"\n")


def _metrics_page(registry: CollectorRegistry, accept: str) -> Page:
    encode, content_type = choose_encoder(accept)
    return Page(HTTPStatus.OK, content_type, encode(registry))


class _HttpServer(BoundedHttpServer):
    def __init__(self, address: TcpAddress | UnixAddress, pages: Mapping[str, Callable[[str], Page]]) -> None:
        self.pages = pages
        super().__init__(address, _Handler, threads=MAX_CONNECTIONS, name="admin")


class _Handler(BaseHTTPRequestHandler):
    server: _HttpServer
    timeout = SILENT_SECONDS
    server_version = "evalward"
    sys_version = ""

    def do_GET(self) -> None:
        """Respond with the page of the path."""
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        """Respond with the headers of that page."""
        self._answer(with_body=False)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """Respond without text from the request, which the library would repeat."""
        status = HTTPStatus.METHOD_NOT_ALLOWED if code == HTTPStatus.NOT_IMPLEMENTED else HTTPStatus(code)
        self._send(Page(status, PLAIN_TEXT, f"{status.phrase}\n".encode()), with_body=True)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
        """Log nothing: probes are frequent, and a path is untrusted text."""

    def _answer(self, *, with_body: bool) -> None:
        make = self.server.pages.get(self.path.partition("?")[0])
        if make is None:
            page = Page(HTTPStatus.NOT_FOUND, PLAIN_TEXT, " ".join(self.server.pages).encode() + b"\n")
        else:
            page = make(self.headers.get("Accept", ""))
        self._send(page, with_body=with_body)

    def _send(self, page: Page, *, with_body: bool) -> None:
        self.send_response(page.status)
        self.send_header("Content-Type", page.content_type)
        self.send_header("Content-Length", str(len(page.body)))
        self.send_header("Cache-Control", "no-store")
        if page.status is HTTPStatus.METHOD_NOT_ALLOWED:
            self.send_header("Allow", "GET, HEAD")
        self.send_header("Connection", "close")
        self.end_headers()
        if with_body:
            self.wfile.write(page.body)
