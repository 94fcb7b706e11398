"""Time calls in short slices, and take the medians of all rounds.

A time is the best of three slices, which leaves out what other processes took. A ratio is taken within a round: the
median over the rounds survives a machine whose speed changes meanwhile.
"""

from __future__ import annotations

import time
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from node_guard import NodeGuard

SLICES = 3
SLICE_S = 0.008


def timer(call: Callable[[], object]) -> Callable[[], float]:
    """Return a function that gives the mean seconds of one ``call`` in the best slice."""
    call()
    start = time.perf_counter()
    call()
    count = slice_count(time.perf_counter() - start)

    def time_slice() -> float:
        begin = time.perf_counter()
        for _ in range(count):
            call()
        return (time.perf_counter() - begin) / count

    time_slice()
    return lambda: min(time_slice() for _ in range(SLICES))


def timer_of(node: NodeGuard, code: bytes) -> Callable[[], float]:
    """Return the same for a guard in Node."""
    node.warm(code)
    count = slice_count(node.seconds(3))
    return lambda: min(node.seconds(count) for _ in range(SLICES))


def slice_count(seconds: float) -> int:
    """Return how many calls of that length fill a slice."""
    return max(1, round(SLICE_S / max(seconds, 1e-6)))


def microseconds(samples: Iterable[float | None]) -> float | None:
    """Return the median in microseconds, or None when nothing was measured."""
    known = [sample for sample in samples if sample is not None]
    return round(median(known) * 1e6, 2) if known else None


def ratio(pairs: Iterable[tuple[float, float | None]]) -> float | None:
    """Return the median of the ratios taken round by round, or None when nothing was measured."""
    ratios = [ours / theirs for ours, theirs in pairs if theirs]
    return round(median(ratios), 3) if ratios else None
