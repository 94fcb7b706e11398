"""The wall-clock limit of a job. It is the last resort: the guard's own limits are counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from evalward.guard.rules import Limits
    from evalward.judging.executor import Job

_SECONDS: Final = 2.0
_PER_BYTES: Final = 128 * 1024
_HARDENING: Final = 3.0


def wall_clock_limit(limits: Limits) -> float:
    """Return the seconds after which a worker is considered stuck: 2, more for a size limit above 128 KiB.

    The slowest known text takes a tenth of it on an idle machine (``benchmarks/hostile.py``).
    """
    return _SECONDS * max(1.0, limits.payload_bytes / _PER_BYTES)


def effort_of(job: Job) -> float:
    """Return how many times that limit ``job`` may take: emission costs up to twice the verdict."""
    return _HARDENING if job.harden else 1.0
