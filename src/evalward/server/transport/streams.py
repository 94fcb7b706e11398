"""The open ValidateStreams: their number is bounded, and an idle stream is evicted for a new one.

A stream is idle while the service waits for its next item, or for its caller to read a response; not while an item is
judged. A stream that is idle for the limit always ends. When all places are taken, a stream that has been idle for a
tenth of a second is evicted: of the caller with the most streams, of the connection with the most, one without an item,
the one idle for longest, in this order. A caller that holds streams open therefore excludes no other caller and loses
its own streams first.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from enum import Enum
from typing import TYPE_CHECKING, Final

from evalward.errors import Code, CodedError, Repair
from evalward.server.decide.load_shedding import overloaded
from evalward.server.limit_names import STREAM_IDLE
from evalward.server.transport.rich_status import rich_status

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    import grpc

    from evalward.judging.requester import Requester

GIVES_WAY_SECONDS: Final = 0.1


class _State(Enum):
    WAITS = "for an item"
    JUDGES = "an item"
    SENDS = "an answer"
    ENDED = "by the service"


class Stream:
    """One open stream. Its own thread calls ``waits``, ``judges`` and ``sends``, and ``close`` at the end."""

    def __init__(self, context: grpc.ServicerContext, send: Callable[[Any], None], holder: Requester) -> None:
        self.holder = holder
        self.idle_since = time.monotonic()
        self.items = 0
        self._context = context
        self._send = send
        self._state = _State.WAITS
        self._lock = threading.Lock()

    def waits(self) -> None:
        """Enter the state of waiting for the next item."""
        self._enter(_State.WAITS)

    def judges(self) -> bool:
        """Enter the state of judging an item; return False when the service has ended the stream."""
        self.items += 1
        return self._enter(_State.JUDGES)

    def sends(self, response: Any) -> None:
        """Send ``response``; return when it is sent or can no longer be sent."""
        if self._enter(_State.SENDS):
            self._send(response)

    def close(self) -> None:
        """Send the status of a stream that its caller has ended."""
        if self._enter(_State.ENDED):
            self._send(None)

    @property
    def is_ended(self) -> bool:
        """Whether the status is sent, or must not be sent any more."""
        return self._state is _State.ENDED

    def idle_for(self, now: float) -> float:
        """Return the idle time in seconds; 0 while an item is judged."""
        with self._lock:
            return now - self.idle_since if self._state in {_State.WAITS, _State.SENDS} else 0.0

    def claim(self) -> Callable[[grpc.Status], None] | None:
        """Claim the end of the stream for another thread; return None while an item is judged or after its end.

        From then on the stream's own thread does nothing; the claimant must call the result with the status. If the
        caller does not read a response, no status can follow it, and the stream is cancelled.
        """
        with self._lock:
            state = self._state
            if state in {_State.JUDGES, _State.ENDED}:
                return None
            self._state = _State.ENDED
        return self._tell if state is _State.WAITS else self._cancel

    def _tell(self, status: grpc.Status) -> None:
        self._context.set_trailing_metadata(status.trailing_metadata)
        self._context.set_code(status.code)
        self._context.set_details(status.details)
        self._send(None)

    def _cancel(self, _status: grpc.Status) -> None:
        self._context.cancel()  # type: ignore[no-untyped-call]  # the stubs do not say

    def _enter(self, state: _State) -> bool:
        with self._lock:
            if self._state is _State.ENDED:
                return False
            self._state = state
            self.idle_since = time.monotonic()
            return True


class Streams:
    """At most ``most`` streams, each ended after ``idle_seconds`` idle seconds (0: never).

    ``refusal`` of a stream records and counts its end and returns the envelope.
    """

    def __init__(self, most: int, *, idle_seconds: float) -> None:
        self._most = most
        self._idle_seconds = idle_seconds
        self._open: dict[Stream, Callable[[CodedError], dict[str, Any]]] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._open)

    def enter(self, stream: Stream, refusal: Callable[[CodedError], dict[str, Any]]) -> None:
        """Register ``stream``, and evict another one if necessary; raise CodedError when there is no place."""
        with self._lock:
            evict = self._evict(stream.holder) if len(self._open) >= self._most else None
            if len(self._open) >= self._most:
                raise overloaded("streams", self._most)
            self._open[stream] = refusal
        if evict is not None:
            evict(overloaded("streams", self._most))

    def leave(self, stream: Stream) -> None:
        """Unregister ``stream`` if it is still registered."""
        with self._lock:
            self._open.pop(stream, None)

    def sweep(self) -> None:
        """End every stream that is idle for too long."""
        if not self._idle_seconds:
            return
        now = time.monotonic()
        with self._lock:
            idle = [each for each in self._open if each.idle_for(now) > self._idle_seconds]
            ends = [end for end in map(self._claimed, idle) if end is not None]
        for end in ends:
            end(_silent(self._idle_seconds))

    def _claimed(self, stream: Stream) -> Callable[[CodedError], None] | None:
        """Unregister ``stream`` and return what ends it; None, and it stays, when it is not idle any more.

        The lock is held. A stream that is unregistered before it is claimed could continue uncounted.
        """
        told = stream.claim()
        if told is None:
            return None
        refusal = self._open.pop(stream)
        return lambda why: told(rich_status(refusal(why)))

    def _evict(self, comer: Requester) -> Callable[[CodedError], None] | None:
        """Evict a stream for ``comer`` and return what ends it; None: no stream can be evicted."""
        for stream in self._eviction_order(comer):
            end = self._claimed(stream)
            if end is not None:
                return end
        return None

    def _eviction_order(self, comer: Requester) -> list[Stream]:
        """Return the streams to evict for ``comer``, first one first; the lock is held."""
        callers = Counter(each.holder.caller for each in self._open)
        connections = Counter(each.holder.connection for each in self._open)
        now = time.monotonic()
        idle = [each for each in self._open if each.idle_for(now) >= GIVES_WAY_SECONDS]
        # A caller with fewer streams than the new one already has keeps them.
        fair = [each for each in idle if callers[each.holder.caller] >= callers[comer.caller]]
        return sorted(
            fair,
            key=lambda each: (
                callers[each.holder.caller],
                connections[each.holder.connection],
                not each.items,
                each.idle_for(now),
            ),
            reverse=True,
        )


def _silent(seconds: float) -> CodedError:
    return CodedError(
        Code.OVERLOADED,
        "The stream was idle for too long and was closed.",
        repair=Repair.passed(STREAM_IDLE, int(seconds)),
    )
