"""The interface behind which payloads are judged, with bounds on concurrency and queue.

The service knows only ``Executor``: ``in_process`` judges in the calling thread, ``workers`` in supervised processes.
Waiting is bounded: beyond the queue a job is rejected at once, so that a flood cannot grow memory and threads for
health checks stay free (service.md, "Sockets, identity, limits").
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from evalward.judging.requester import ANONYMOUS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evalward.guard.rules import Rules
    from evalward.guard.target import Shape, Target
    from evalward.guard.verdict import Verdict
    from evalward.judging.requester import Requester

    PendingVerdict = Callable[[], Verdict | None]


class Job(NamedTuple):
    """One payload to judge, with everything that determines the verdict.

    Without a shape it is judged in every possible shape or, with ``shape_from_text``, in the shape in which the sandbox
    would run it. With a ``sink`` (an id) it is judged in every way in which that sink reads it. With ``harden``
    an allow carries a program, or the reason why there is none. ``requester`` affects only the order of service.
    """

    payload: bytes
    target: Target
    shape: Shape | None
    rules: Rules
    shape_from_text: bool = False
    sink: str | None = None
    requester: Requester = ANONYMOUS
    harden: bool = False


class Load(NamedTuple):
    """The number of running and of waiting jobs."""

    running: int
    waiting: int


class Overloaded(Exception):  # noqa: N818 - named for the registry's code
    """The job is rejected: ``limit`` names the exhausted limit, ``allowed`` is its size."""

    def __init__(self, limit: str, allowed: int) -> None:
        super().__init__(f"{limit} of {allowed} is used up")
        self.limit = limit
        self.allowed = allowed


class TooLong(Exception):  # noqa: N818 - as above
    """The job was worked on for ``allowed_ms`` of wall time without a verdict: it is denied."""

    def __init__(self, allowed_ms: int) -> None:
        super().__init__(f"no verdict within {allowed_ms} ms")
        self.allowed_ms = allowed_ms


class Lost(Exception):  # noqa: N818 - as above
    """The job has no verdict, and the payload is not the cause: ``why`` is what happened to the worker."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Executor(Protocol):
    """Judges jobs, within its own bounds."""

    def submit(self, job: Job, *, patience: float | None) -> Verdict:
        """Judge ``job``; wait at most ``patience`` seconds (None: no limit) for a free place.

        Raises Overloaded when the queue is full or ``patience`` ends. An executor that can abandon a job counts the
        judging into ``patience`` and raises TooLong or Lost; any other exception is its own failure.
        """
        ...

    def begin(self, jobs: Sequence[Job], *, patience: float | None) -> Sequence[PendingVerdict]:
        """Start to judge ``jobs`` together, concurrently with the caller, if a place is free at once.

        Each returned callable gives the verdict of its job, or raises as ``submit`` does: a fault affects only its own
        job. A job whose callable returns None has to be submitted. Call each callable once and in order: the jobs hold
        a place until then.
        """
        ...

    def load(self) -> Load:
        """Return the current load."""
        ...

    def close(self) -> None:
        """Release all resources; no job may be submitted afterwards."""
        ...


def not_started() -> None:
    """Return None: the job has to be submitted."""


def shape_of(job: Job) -> Shape | None:
    """Return the shape in which ``job`` is judged; None: in every possible one."""
    if job.shape is not None or not job.shape_from_text:
        return job.shape
    if not job.rules.allowed or len(job.payload) > job.rules.limits.payload_bytes:
        return None  # denied before its text is parsed
    from evalward.guard.syntax.run_shape import choose_shape  # noqa: PLC0415 - the server process needs no parser

    return choose_shape(job.payload)
