"""The listener of hooks: ``POST /hook/PRODUCT`` over HTTP/1.1, on Unix sockets and on loopback.

The body is the JSON that the product gives its hook, the response what the hook prints. Some products let a call
through when the response is an error, so each failure on the path of a product is an answer that denies, with status
200. Where the service needs a token, so does this listener.
"""

from __future__ import annotations

import re
import socket
import struct
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any, Final

from evalward.errors import Code, CodedError, Repair, pointer
from evalward.hook.call import Answer, Outcome
from evalward.hook.products import PRODUCTS
from evalward.server.addresses import ListenError, TcpAddress, UnixAddress
from evalward.server.bounded_http import BoundedHttpServer
from evalward.server.decide.server_calls import ServerCall
from evalward.server.requests.caller import TRACEPARENT, Caller, parse_traceparent
from evalward.server.transport.caller_identity import token_principal
from evalward.server.transport.socket_paths import SocketPaths
from evalward.server.transport.token_gate import NOT_AUTHENTICATED

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from evalward.hook.call import Product
    from evalward.server.transport.door_calls import DoorCalls
    from evalward.server.transport.token_gate import TokenSource
    from evalward.thread_pool import PrestartedPool

RPC: Final = "Hook"
SPARE_THREADS: Final = 8
"""Threads for connections that have not sent their input yet, besides one for each call that can run or wait."""
PATH: Final = "/hook/"
EXIT_HEADER: Final = "Evalward-Exit"
SECONDS: Final = 4.0
"""The patience of a hook: less than that of the client, which then still gets the reason."""
SILENT_SECONDS: Final = 5.0
MOST_DISCARDED: Final = 64 * 1024 * 1024
CHUNK: Final = 64 * 1024
_LOCAL: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
_PORT: Final = re.compile(r":[0-9]{1,5}\Z")
_DIGITS: Final = re.compile(r"[0-9]{1,12}")
_PEER: Final = struct.Struct("3i")
_BEARER: Final = "Bearer "


class HookListener:
    """Serves hooks on its own threads, from ``bind`` to ``close``. With ``tokens`` every call must carry one."""

    def __init__(
        self,
        calls: DoorCalls,
        *,
        tokens: TokenSource | None,
        max_bytes: int,
        threads: int,
        unix_mode: int,
    ) -> None:
        self._calls = calls
        self._tokens = tokens
        self._max_bytes = max_bytes
        self._threads = threads
        self._paths = SocketPaths(unix_mode)
        self._servers: list[_HookServer] = []

    def bind(self, addresses: Sequence[TcpAddress | UnixAddress]) -> list[str]:
        """Bind ``addresses`` and return them with their actual ports; raise ListenError."""
        for address in addresses:
            try:
                if isinstance(address, UnixAddress):
                    with self._paths.binding(address.path):
                        self._add(address)
                elif address.is_loopback:
                    self._add(address)
                else:
                    raise ListenError(f"{address}: hooks are served on Unix sockets and on loopback only")
            except OSError as failure:
                raise ListenError(f"cannot bind {address} for hooks: {failure.strerror}") from failure
        return [str(each.address) for each in self._servers]

    @property
    def pools(self) -> tuple[PrestartedPool, ...]:
        """The threads that serve calls."""
        return tuple(each.pool for each in self._servers)

    @property
    def paths(self) -> tuple[Path, ...]:
        """The bound Unix sockets."""
        return self._paths.paths

    def lost(self) -> list[Path]:
        """Return the Unix sockets that clients can no longer reach."""
        return self._paths.lost()

    def start(self) -> None:
        """Start to serve; raise NoThreadError."""
        for each in self._servers:
            each.pool.prestart()
            each.begin()

    def close(self) -> None:
        """Stop serving and remove the sockets."""
        for each in self._servers:
            each.end()
        self._paths.close()

    def _add(self, address: TcpAddress | UnixAddress) -> None:
        self._servers.append(
            _HookServer(address, self._calls, self._tokens, self._max_bytes, threads=self._threads)
        )


class _HookServer(BoundedHttpServer):
    def __init__(
        self,
        address: TcpAddress | UnixAddress,
        calls: DoorCalls,
        tokens: TokenSource | None,
        max_bytes: int,
        *,
        threads: int,
    ) -> None:
        self.calls = calls
        self.tokens = tokens
        self.max_bytes = max_bytes
        super().__init__(address, _Handler, threads=threads, name="hook")


class _Handler(BaseHTTPRequestHandler):
    server: _HookServer
    timeout = SILENT_SECONDS
    server_version = "evalward"
    sys_version = ""
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer the hook of the product that the path names."""
        product = PRODUCTS.get(self.path.removeprefix(PATH)) if self.path.startswith(PATH) else None
        if product is None:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        decided = self.server.calls.decide(lambda: self._call(product), self._caller(), SECONDS)
        if decided is None:
            self._send(Answer(b""))
            return
        self._send(
            product.answer(Outcome(decided.allowed, decided.call.decision.envelope, decided.arguments))
        )

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """Respond without text from the request, which the library would repeat."""
        self.close_connection = True
        self.send_response(code)
        self.send_header("Content-Length", "0")
        self.send_header("Connection", "close")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
        """Log nothing: a path is untrusted text."""

    def _call(self, product: Product) -> ServerCall | None:
        """Return the call that the request asks about, None for a tool of the product; raise CodedError."""
        self._check_caller()
        asked = product.read(self._body())
        if not asked.readings:
            return None
        return ServerCall(
            asked.readings,
            asked.arguments_json,
            asked.session_id,
            asked.request_id,
            takes_programs=product.TAKES_PROGRAMS,
        )

    def _body(self) -> bytes:
        lengths = self.headers.get_all("Content-Length", [])
        if (
            self.headers.get("Transfer-Encoding") is not None
            or len(lengths) != 1
            or not _DIGITS.fullmatch(lengths[0])
        ):
            raise CodedError(
                Code.INVALID_INPUT,
                "The hook's request has no single Content-Length.",
                repair=Repair(field=pointer()),
            )
        length, most = int(lengths[0]), self.server.max_bytes
        if length > most:
            self._discard(length)
            raise CodedError(
                Code.EVAL_PAYLOAD_TOO_LARGE,
                f"The hook's input exceeds the limit arguments_bytes of {most}.",
                repair=Repair.passed("arguments_bytes", most, field="/", actual=length),
            )
        try:
            body = self.rfile.read(length)
        except TimeoutError:
            body = b""
        if len(body) < length:
            raise CodedError(
                Code.INVALID_INPUT,
                "The hook's request ends before its Content-Length.",
                repair=Repair(field=pointer()),
            )
        return body

    def _discard(self, length: int) -> None:
        """Read what is too long, so that the client reads the answer instead of a broken connection."""
        left = min(length, MOST_DISCARDED)
        with suppress(TimeoutError):
            while left > 0 and (part := self.rfile.read(min(left, CHUNK))):
                left -= len(part)

    def _check_caller(self) -> None:
        """Raise CodedError for a page in a browser, and for a caller without a token where one is needed."""
        host = self.headers.get("Host") or ""
        is_local = self._is_unix or _PORT.sub("", host).lower() in _LOCAL
        if self.headers.get("Origin") is not None or not is_local:
            raise CodedError(Code.PERMISSION_DENIED, "The request comes from a page, not from a hook.")
        tokens = self.server.tokens
        if tokens is not None:
            sent = self.headers.get_all("Authorization", [])
            if len(sent) != 1 or not tokens.accepts(sent[0].encode("latin-1", "replace")):
                raise CodedError(Code.UNAUTHENTICATED, NOT_AUTHENTICATED)

    @property
    def _is_unix(self) -> bool:
        return isinstance(self.server.address, UnixAddress)

    def _caller(self) -> Caller:
        """Return the caller: the token that it carries, and the user of the Unix socket for sharing the load."""
        principal = None
        sent = self.headers.get_all("Authorization", [])
        tokens = self.server.tokens
        if tokens is not None and len(sent) == 1 and tokens.accepts(sent[0].encode("latin-1", "replace")):
            principal = token_principal(sent[0].removeprefix(_BEARER))
        peer = f"hook:{self.client_address[0]}" if not self._is_unix else f"unix:{self._uid()}"
        return Caller(parse_traceparent(self.headers.get(TRACEPARENT)), principal, f"{peer}:hook")

    def _uid(self) -> int:
        if not hasattr(socket, "SO_PEERCRED"):
            return -1
        found = self.connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
        return int(_PEER.unpack(found)[1])

    def _send(self, answer: Answer) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer.stdout)))
        self.send_header(EXIT_HEADER, str(answer.exit_code))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Connection", "close")
        self.close_connection = True
        self.end_headers()
        self.wfile.write(answer.stdout)
