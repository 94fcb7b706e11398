"""Recent processor time per requester: who has used much lets others go first.

Costs are kept per connection and per caller (``Requester``). A new connection is expected to cost what payloads of
its caller cost, so that opening a new connection for each payload gains nothing.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Hashable

    from evalward.judging.requester import Requester

HALF_LIFE_SECONDS: Final = 2.0
"""The half-life of recorded use."""
USUAL_RATE: Final = 0.001
"""The assumed seconds per KiB for an unknown caller: more than ordinary code takes."""
KNOWN: Final = 2_048
"""The number of accounts; the least recently used one is dropped."""
_FALL: Final = 0.9  # a rate rises at once, and falls by a tenth with each cheaper payload
_KIB: Final = 1024


class _Account:
    """The recent use of one requester, and the rate of its most expensive recent payloads."""

    __slots__ = ("at", "rate", "used")

    def __init__(self) -> None:
        self.rate = 0.0
        self.used = 0.0
        self.at = time.monotonic()

    def used_by(self, now: float) -> float:
        return float(self.used * 0.5 ** ((now - self.at) / HALF_LIFE_SECONDS))

    def spend(self, seconds: float, rate: float, now: float) -> None:
        self.used, self.at = self.used_by(now) + seconds, now
        self.rate = max(rate, _FALL * self.rate + (1 - _FALL) * rate)


class Costs:
    """The accounts of the requesters of one pool. Not thread-safe: its user holds a lock."""

    def __init__(self) -> None:
        self._accounts: OrderedDict[Hashable, _Account] = OrderedDict()

    def used(self, requester: Requester) -> float:
        """Return the seconds that the connection has used recently."""
        account = self._accounts.get(requester)
        return 0.0 if account is None else account.used_by(time.monotonic())

    def expected(self, requester: Requester, size: int) -> float:
        """Return the seconds that a payload of ``size`` bytes is expected to cost."""
        account = self._accounts.get(requester) or self._accounts.get(requester.caller)
        return (USUAL_RATE if account is None else account.rate) * _kib(size)

    def spend(self, requester: Requester, size: int, seconds: float) -> None:
        """Register that payloads of ``size`` bytes have cost ``seconds``."""
        now = time.monotonic()
        for key in (requester, requester.caller):
            account = self._accounts.get(key)
            if account is None:
                account = self._accounts[key] = _Account()
            self._accounts.move_to_end(key)
            account.spend(seconds, seconds / _kib(size), now)
        while len(self._accounts) > KNOWN:
            self._accounts.popitem(last=False)


def _kib(size: int) -> float:
    """Return ``size`` in KiB, at least 1: shorter payloads cost mostly a fixed amount."""
    return max(1.0, size / _KIB)
