"""Notify observers of answered calls: metrics count them, traces export them."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, NamedTuple, Protocol

from evalward.guard.constructs.labels import PROCESS_FAMILY, catalogue_label, is_known_label
from evalward.server.requests.caller import UNKNOWN_CALLER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalward.errors import Code
    from evalward.server.decide.decisions import Decision
    from evalward.server.requests.caller import Caller

LOG = logging.getLogger("evalward.server")


class Finished(NamedTuple):
    """One answered call, or one item of a stream, with its decisions; a batch has several.

    ``started`` and ``ended`` are seconds of ``time.perf_counter``. Each decision stands for ``times`` payloads: all
    items of a batch that is rejected as a whole.
    """

    rpc: str
    caller: Caller
    decisions: Sequence[Decision]
    started: float
    ended: float
    times: int = 1


class Observer(Protocol):
    """Observes decisions on the threads that made them. It sees no payload and decides nothing."""

    def finished(self, call: Finished) -> None:
        """Register ``call``; must return quickly."""
        ...

    def turned_away(self, code: Code) -> None:
        """Register a call that was rejected before its request was read."""
        ...


class Observers:
    """The observers of one server. The failure of an observer is logged and affects no response."""

    def __init__(self, observers: Sequence[Observer] = ()) -> None:
        self._observers = tuple(observers)

    def finished(
        self,
        rpc: str,
        decisions: Sequence[Decision],
        started: float,
        caller: Caller = UNKNOWN_CALLER,
        *,
        times: int = 1,
    ) -> None:
        """Notify the observers of a call that began at ``started`` and has just been answered."""
        if not self._observers:
            return
        call = Finished(rpc, caller, decisions, started, time.perf_counter(), times)
        for observer in self._observers:
            try:
                observer.finished(call)
            except Exception as failure:  # noqa: BLE001 - the response does not depend on it
                _log_failure(observer, failure)

    def turned_away(self, code: Code) -> None:
        """Notify the observers of a call that was rejected before its request was read."""
        for observer in self._observers:
            try:
                observer.turned_away(code)
            except Exception as failure:  # noqa: BLE001 - as above
                _log_failure(observer, failure)


def label_of(construct: object) -> str | None:
    """Return the construct label of an envelope for metrics and traces; None for anything else."""
    if not isinstance(construct, str) or not (is_known_label(construct) or construct == PROCESS_FAMILY):
        return None
    return catalogue_label(construct)


def _log_failure(observer: Observer, failure: Exception) -> None:
    LOG.error("%s missed a call: %s", type(observer).__name__, type(failure).__name__)
