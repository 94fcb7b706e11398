"""Calls that were answered, for whoever watches: metrics count them, traces tell of them."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, NamedTuple, Protocol

from evalward.guard.constructs.labels import catalogue_label, is_known_label
from evalward.server.caller import NOBODY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalward.errors import Code
    from evalward.server.answers import Answer
    from evalward.server.caller import Caller

LOG = logging.getLogger("evalward.server")


class Finished(NamedTuple):
    """One call, or one item of a stream, and what it was answered with: more than one answer for a batch.

    ``started`` and ``ended`` are seconds of ``time.perf_counter``. Each answer is that of ``times`` payloads: of
    all items of a batch that was refused as a whole.
    """

    rpc: str
    caller: Caller
    answers: Sequence[Answer]
    started: float
    ended: float
    times: int = 1


class Observer(Protocol):
    """Watches the answers, from the threads that gave them. It sees no payload, and decides nothing."""

    def finished(self, call: Finished) -> None:
        """Take note of ``call``, soon."""
        ...

    def turned_away(self, code: Code) -> None:
        """Take note of a call that was refused before anything of it was read."""
        ...


class Observers:
    """All who watch one server. What fails in one of them is logged and costs no answer."""

    def __init__(self, observers: Sequence[Observer] = ()) -> None:
        self._observers = tuple(observers)

    def finished(
        self,
        rpc: str,
        answers: Sequence[Answer],
        started: float,
        caller: Caller = NOBODY,
        *,
        times: int = 1,
    ) -> None:
        """Tell of a call that began at ``started`` and has just been answered."""
        if not self._observers:
            return
        call = Finished(rpc, caller, answers, started, time.perf_counter(), times)
        for observer in self._observers:
            try:
                observer.finished(call)
            except Exception as failure:  # noqa: BLE001 - the answer stands, whoever could not count it
                _complain(observer, failure)

    def turned_away(self, code: Code) -> None:
        """Tell of a call that was refused before anything of it was read."""
        for observer in self._observers:
            try:
                observer.turned_away(code)
            except Exception as failure:  # noqa: BLE001 - as above
                _complain(observer, failure)


def label_of(construct: object) -> str | None:
    """Return the label that an envelope names, as metrics and traces may carry it; None for anything else."""
    if not isinstance(construct, str) or not is_known_label(construct):
        return None
    return catalogue_label(construct)


def _complain(observer: Observer, failure: Exception) -> None:
    LOG.error("%s missed a call: %s", type(observer).__name__, type(failure).__name__)
