"""One request on its way through the service: who it is, when it began, and how far it got."""

from __future__ import annotations

import copy
import os
import time
from typing import TYPE_CHECKING, Self

from evalward.audit import Kind
from evalward.server.requests.caller import UNKNOWN_CALLER

if TYPE_CHECKING:
    from evalward.server.requests.caller import Caller
    from evalward.server.requests.validate_request import RequestReader
    from evalward.tools.payloads import Payload


class RequestContext:
    """The parts of one request that every step needs.

    ``tool`` is the tool that a call names, ``field_path`` where in its arguments the payload stood. ``stage`` is
    the record that is due next: a decision, or, once the payload was allowed, an evaluation; ``patience`` the
    caller's time in seconds when the request came (None: no end), ``caller`` who asks.
    """

    __slots__ = ("caller", "decision_id", "field_path", "patience", "reader", "stage", "started", "tool")

    def __init__(
        self, reader: RequestReader, patience: float | None = None, caller: Caller = UNKNOWN_CALLER
    ) -> None:
        self.started = time.perf_counter()
        self.patience = patience
        self.caller = caller
        self.decision_id = os.urandom(16).hex()
        self.reader = reader
        self.stage = Kind.DECISION
        self.tool: str | None = None
        self.field_path: str | None = None

    def part(self, code: Payload, field_path: str) -> Self:
        """Return the case of one payload of this request: same decision, a record of its own."""
        part = copy.copy(self)
        part.reader = copy.copy(self.reader)
        part.reader.received = self.reader.received._replace(
            code=code.payload, target=code.target, shape=code.shape, sink=code.sink, arguments=None
        )
        part.field_path = field_path
        return part

    @property
    def elapsed_us(self) -> int:
        """Microseconds since the request came."""
        return int((time.perf_counter() - self.started) * 1e6)

    @property
    def elapsed_ms(self) -> float:
        """Milliseconds since the request came."""
        return self.elapsed_us / 1000

    def left_of(self, seconds: float | None) -> float | None:
        """Return how much is left of the ``seconds`` that the caller gave at the start; None: no end."""
        return None if seconds is None else seconds - (time.perf_counter() - self.started)

    @property
    def left(self) -> float | None:
        """How much is left of the caller's time in seconds; None: no end."""
        return self.left_of(self.patience)
