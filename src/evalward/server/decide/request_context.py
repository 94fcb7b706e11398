"""One request on its way through the service: its id, start time, caller and progress."""

from __future__ import annotations

import copy
import os
import time
from typing import TYPE_CHECKING, Self

from evalward.audit import Kind
from evalward.server.requests.caller import UNKNOWN_CALLER

if TYPE_CHECKING:
    from evalward.guard.rules import Hardening
    from evalward.server.requests.caller import Caller
    from evalward.server.requests.validate_request import RequestReader
    from evalward.tools.payloads import Payload


class RequestContext:
    """The state of one request that every step needs.

    ``tool`` is the tool that a call names, ``field_path`` the location of the payload in its arguments. ``stage`` is
    the kind of the next audit record: a decision or, after an allow, an evaluation. ``patience`` is the seconds until
    the caller's deadline when the request arrived (None: no deadline). ``takes_offers``: the reply has room for a
    hardened program that the policy only offers. ``is_inert``: the payload stands for markup, and nothing evaluates it.
    ``least_hardening`` is what the manifest declares for the payload.
    """

    __slots__ = (
        "caller",
        "decision_id",
        "field_path",
        "is_inert",
        "least_hardening",
        "patience",
        "reader",
        "stage",
        "started",
        "takes_offers",
        "tool",
    )

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
        self.takes_offers = reader.takes_offers
        self.is_inert = False
        self.least_hardening: Hardening | None = None

    def part(self, code: Payload, field_path: str) -> Self:
        """Return the context of one payload of this request: same decision id, its own record."""
        part = copy.copy(self)
        part.reader = copy.copy(self.reader)
        part.reader.received = self.reader.received._replace(
            code=code.payload, target=code.target, shape=code.shape, sink=code.sink, arguments=None
        )
        part.field_path = field_path
        return part

    @property
    def elapsed_us(self) -> int:
        """Microseconds since the request arrived."""
        return int((time.perf_counter() - self.started) * 1e6)

    @property
    def elapsed_ms(self) -> float:
        """Milliseconds since the request arrived."""
        return self.elapsed_us / 1000

    def left_of(self, seconds: float | None) -> float | None:
        """Return the rest of ``seconds``, counted from the arrival of the request; None: no deadline."""
        return None if seconds is None else seconds - (time.perf_counter() - self.started)

    @property
    def left(self) -> float | None:
        """Seconds until the caller's deadline; None: no deadline."""
        return self.left_of(self.patience)
