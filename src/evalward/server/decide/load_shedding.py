"""What a request needs before anybody looks at it: an open service, a caller who still waits, and room."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.errors import Code, CodedError, Repair

if TYPE_CHECKING:
    from evalward.server.decide.request_context import RequestContext

# The part of the caller's remaining time that may be spent waiting, so that an answer still arrives in time.
PATIENCE_SHARE = 0.8


def check_open(remaining: float | None, *, stopping: bool) -> None:
    """Raise CodedError when the service drains, or the caller no longer waits."""
    if stopping:
        raise CodedError(Code.SHUTTING_DOWN, "The service is shutting down.")
    if remaining is not None and remaining <= 0:
        raise CodedError(Code.DEADLINE_EXCEEDED, "The caller's deadline has passed.")


def overloaded(limit: str, allowed: int) -> CodedError:
    """Return the refusal for want of room: ``limit`` is what ran out, ``allowed`` its size."""
    return CodedError(
        Code.OVERLOADED,
        "The service has no room for another request.",
        repair=Repair.passed(limit, allowed),
    )


def patience(request: RequestContext, remaining: float | None) -> float | None:
    """Return for how many seconds a case may wait; None: without end."""
    left = request.left_of(remaining)
    return None if left is None else left * PATIENCE_SHARE
