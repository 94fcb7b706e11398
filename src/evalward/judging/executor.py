"""The seam behind which the guard's work is done, and the bounds on how much of it there may be at once.

The service knows only ``Executor``. The implementation here judges in the calling thread; supervised worker
processes take its place without a change to the service. Waiting is bounded: past the queue a request is
refused at once, so that no flood can grow memory, and threads for health checks stay free (service.md,
"Sockets, identity, limits").
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
    """One payload to judge, with everything that decides about it.

    Without a shape it is judged in every shape that it could have, or, with ``shape_from_text``, in the one
    in which the sandbox would run it. With a ``sink`` (an id) it is judged in every way in which that reads it.
    ``requester`` decides about nothing but whose turn it is.
    """

    payload: bytes
    target: Target
    shape: Shape | None
    rules: Rules
    shape_from_text: bool = False
    sink: str | None = None
    requester: Requester = ANONYMOUS


class Load(NamedTuple):
    """How many jobs run, and how many wait for a place."""

    running: int
    waiting: int


class Overloaded(Exception):  # noqa: N818 - named for the registry's code
    """There is no room for the job: ``limit`` names what ran out, ``allowed`` is its size."""

    def __init__(self, limit: str, allowed: int) -> None:
        super().__init__(f"{limit} of {allowed} is used up")
        self.limit = limit
        self.allowed = allowed


class TooLong(Exception):  # noqa: N818 - as above
    """The job had ``allowed_ms`` by the clock, was worked on, and had no verdict at their end: it is denied."""

    def __init__(self, allowed_ms: int) -> None:
        super().__init__(f"no verdict within {allowed_ms} ms")
        self.allowed_ms = allowed_ms


class Lost(Exception):  # noqa: N818 - as above
    """The job came to no verdict through no fault of its payload: ``why`` is what became of who judged it."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Executor(Protocol):
    """Judges jobs somewhere, under bounds of its own."""

    def submit(self, job: Job, *, patience: float | None) -> Verdict:
        """Judge ``job``, waiting at most ``patience`` seconds (None: as long as it takes) for a free place.

        Raises Overloaded when the queue is full or the patience ends. An executor that can let go of a job counts
        the judging in, and raises TooLong or Lost; any other exception is a failure of its own.
        """
        ...

    def begin(self, jobs: Sequence[Job], *, patience: float | None) -> Sequence[PendingVerdict]:
        """Begin to judge ``jobs`` together, beside the caller, if there is room at once.

        What is returned gives their verdicts, or raises as ``submit`` does: a fault costs the job that has it. A job
        for which it gives None has to be submitted. Each must be called, once and in their order: until then they
        hold a place.
        """
        ...

    def load(self) -> Load:
        """Return how busy the executor is now."""
        ...

    def close(self) -> None:
        """Let go of whatever the executor holds; no job may be submitted afterwards."""
        ...


def not_started() -> None:
    """Say that a job has to be submitted."""


def shape_of(job: Job) -> Shape | None:
    """Return the shape in which ``job`` is judged; None: in every one that it could have."""
    if job.shape is not None or not job.shape_from_text:
        return job.shape
    if not job.rules.allowed or len(job.payload) > job.rules.limits.payload_bytes:
        return None  # denied before its text is looked at
    from evalward.guard.syntax.run_shape import choose_shape  # noqa: PLC0415 - the front itself needs no parser

    return choose_shape(job.payload)
