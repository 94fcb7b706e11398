"""The gRPC stream of the synchronous client: one message out, one in, each within its time."""

from __future__ import annotations

import threading
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

import grpc

from evalward.client.stream import PATH

if TYPE_CHECKING:
    from evalward.client.steps import Message


class SyncStream:
    """A stream over ``channel``, which the first message opens.

    A thread reads the replies, since gRPC has no timeout for a single message.
    """

    def __init__(self, channel: grpc.Channel) -> None:
        self._channel = channel
        self._out: SimpleQueue[bytes | None] = SimpleQueue()
        self._in: SimpleQueue[bytes | Exception | None] = SimpleQueue()
        self._call: Any = None

    def exchange(self, message: Message) -> bytes | None:
        """Send ``message`` and return the next one, None for the end; raise RpcError or TimeoutError."""
        if self._call is None:
            open_stream = self._channel.stream_stream(PATH, None, None)
            self._call = open_stream(iter(self._out.get, None), metadata=message.metadata)
            threading.Thread(target=self._read, name="evalward-stream", daemon=True).start()
        self._out.put(message.wire)
        try:
            received = self._in.get(timeout=message.seconds)
        except Empty:
            raise TimeoutError from None
        if isinstance(received, Exception):
            raise received
        return received

    def close(self) -> None:
        """End the call."""
        if self._call is not None:
            self._out.put(None)
            self._call.cancel()

    def _read(self) -> None:
        try:
            for message in self._call:
                self._in.put(message)
            self._in.put(None)
        except grpc.RpcError as failure:
            self._in.put(failure)
