"""The caller of a request and its trace context (W3C Trace Context)."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from evalward.judging.requester import Requester

TRACEPARENT: Final = "traceparent"
# W3C Trace Context §3.2: version ff is invalid; later versions add fields after the four known ones.
_TRACEPARENT = re.compile(r"(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-[!-~]{0,256})?")
_KNOWN_VERSION: Final = "00"


class Trace(NamedTuple):
    """The caller's trace context in lower-case hexadecimal: 32, 16 and 2 digits."""

    trace_id: str
    parent_id: str
    flags: str

    def __str__(self) -> str:
        return f"{_KNOWN_VERSION}-{self.trace_id}-{self.parent_id}-{self.flags}"


class Caller(NamedTuple):
    """``principal`` is ``cert:NAME`` or ``token:ID`` (pattern in ``evalward.audit.record``).

    ``peer`` is the peer address as gRPC writes it; it is used for load sharing and never recorded.
    """

    trace: Trace | None = None
    principal: str | None = None
    peer: str = ""

    @property
    def requester(self) -> Requester:
        """The requester to which the load of this call is attributed."""
        return Requester(self.principal or self.peer.rpartition(":")[0], self.peer)

    @property
    def trace_id(self) -> str | None:
        """The id of the caller's trace."""
        return None if self.trace is None else self.trace.trace_id


UNKNOWN_CALLER: Final = Caller()


def parse_traceparent(text: object) -> Trace | None:
    """Return the parsed ``traceparent`` (W3C Trace Context §3.2.2), None for an invalid one."""
    found = _TRACEPARENT.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return None
    version, trace_id, parent_id, flags, rest = found.groups()
    if (
        not trace_id.strip("0")
        or not parent_id.strip("0")
        or (version == _KNOWN_VERSION and rest is not None)
    ):
        return None
    return Trace(trace_id, parent_id, flags)
