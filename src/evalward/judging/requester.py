"""The requester of a job: its recent use of processor time decides when it is served."""

from __future__ import annotations

from typing import Final, NamedTuple


class Requester(NamedTuple):
    """``caller`` is a principal, or a host without one; ``connection`` is the peer address of the connection."""

    caller: str
    connection: str


ANONYMOUS: Final = Requester("", "")
