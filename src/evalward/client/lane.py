"""The messages of a synchronous stream: one out, one in, each within its time."""

from __future__ import annotations

import threading
from queue import SimpleQueue
from typing import Any

import grpc

from evalward.client.stream import PATH


class Lane:
    """A stream's messages: one out, one in. A thread reads, since gRPC has no limit for a single message's wait."""

    def __init__(self, channel: grpc.Channel, metadata: Any) -> None:
        self._out: SimpleQueue[bytes | None] = SimpleQueue()
        self._in: SimpleQueue[bytes | Exception | None] = SimpleQueue()
        self._call: Any = channel.stream_stream(PATH, None, None)(
            iter(self._out.get, None), metadata=metadata
        )
        threading.Thread(target=self._read, name="evalward-stream", daemon=True).start()

    def exchanged(self, wire: bytes, seconds: float) -> bytes | None:
        """Send ``wire`` and return the next message, None for the end; raise RpcError, or Empty when it is late."""
        self._out.put(wire)
        received = self._in.get(timeout=seconds)
        if isinstance(received, Exception):
            raise received
        return received

    def close(self) -> None:
        """End the call."""
        self._out.put(None)
        self._call.cancel()

    def _read(self) -> None:
        try:
            for message in self._call:
                self._in.put(message)
            self._in.put(None)
        except grpc.RpcError as failure:
            self._in.put(failure)
