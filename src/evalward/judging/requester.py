"""The requester of a job: the unit to which processor time is attributed, so that load is shared fairly."""

from __future__ import annotations

from typing import Final, NamedTuple


class Requester(NamedTuple):
    """``caller`` is a principal, or a host if there is none; ``connection`` is the peer address of the call."""

    caller: str
    connection: str


ANONYMOUS: Final = Requester("", "")
