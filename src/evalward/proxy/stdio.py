"""The proxy between the client's standard streams and the server's: two threads that move lines.

A thread for each direction, and no queue between them: the messages of a client are judged and sent on one after the
other, so that they keep their order, and a client that sends faster waits in its own pipe.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, BinaryIO, Final

from evalward.proxy.lines import MOST_LINE_BYTES, lines
from evalward.proxy.listing import LIST_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from evalward.proxy.lines import Line
    from evalward.proxy.listing import Listing
    from evalward.proxy.process_tree import ServerProcess
    from evalward.proxy.session import Sends, Session

LOG: Final = logging.getLogger("evalward.proxy")


class StdioProxy:
    """Moves the lines of one session. ``client_in`` and ``client_out`` are the client's streams."""

    def __init__(  # noqa: PLR0913 - the two sides and what is between them
        self,
        session: Session,
        listing: Listing,
        server: ServerProcess,
        *,
        client_in: BinaryIO,
        client_out: BinaryIO,
        most_line_bytes: int = MOST_LINE_BYTES,
    ) -> None:
        self._session = session
        self._listing = listing
        self._server = server
        self._client_in = client_in
        self._client_out = client_out
        self._most_line_bytes = most_line_bytes
        self._to_client = threading.Lock()
        self._to_server = threading.Lock()
        self._ended = threading.Event()
        self._has_server_ended = False

    def start(self) -> None:
        """Begin to move lines."""
        for move, name in ((self._from_client, "proxy-client"), (self._from_server, "proxy-server")):
            threading.Thread(target=self._guarded, args=(move,), name=name, daemon=True).start()

    def wait(self) -> bool:
        """Wait until the client or the server has gone; return whether it was the server."""
        self._ended.wait()
        return self._has_server_ended

    def stop(self) -> None:
        """End ``wait``, from another thread."""
        self._ended.set()

    def _guarded(self, move: Callable[[], None]) -> None:
        """Run ``move``; whatever it meets ends the proxy, and no message passes unjudged."""
        try:
            move()
        except (BrokenPipeError, ValueError):
            pass  # the other side has gone, and its stream is closed
        except Exception as error:  # noqa: BLE001 - a thread that failed must not leave half a proxy
            LOG.error("the proxy ends: %s", type(error).__name__)  # noqa: TRY400 - a text may quote a message
        finally:
            self._ended.set()

    def _from_client(self) -> None:
        for line in lines(self._client_in, most_bytes=self._most_line_bytes):
            self._send(self._decided(line))

    def _from_server(self) -> None:
        while data := self._server.stdout.readline():
            self._send(self._session.from_server(data))
        self._has_server_ended = True

    def _decided(self, line: Line) -> Sends:
        sends = self._session.from_client(line)
        if not sends.waits_for_tools:
            return sends
        self._send(sends._replace(waits_for_tools=False))
        self._listing.wait(LIST_SECONDS)
        return self._session.from_client(line, is_last_try=True)

    def _send(self, sends: Sends) -> None:
        if sends.server:
            with self._to_server:
                self._server.stdin.write(sends.server)
                self._server.stdin.flush()
        if sends.client:
            with self._to_client:
                self._client_out.write(sends.client)
                self._client_out.flush()
