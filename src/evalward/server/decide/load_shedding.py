"""Reject requests that cannot be decided in time: draining server, expired deadline, overload."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.errors import Code, CodedError, Repair

if TYPE_CHECKING:
    from evalward.server.decide.request_context import RequestContext

# The share of the remaining deadline that a request may wait, so that the response still arrives in time.
PATIENCE_SHARE = 0.8


def check_open(remaining: float | None, *, stopping: bool) -> None:
    """Raise CodedError when the server drains or the caller's deadline has passed."""
    if stopping:
        raise CodedError(Code.SHUTTING_DOWN, "The service is shutting down.")
    if remaining is not None and remaining <= 0:
        raise CodedError(Code.DEADLINE_EXCEEDED, "The caller's deadline has passed.")


def overloaded(limit: str, allowed: int) -> CodedError:
    """Return the OVERLOADED error: ``limit`` names the exhausted limit, ``allowed`` is its size."""
    return CodedError(
        Code.OVERLOADED,
        "The service is overloaded and rejects the request.",
        repair=Repair.passed(limit, allowed),
    )


def patience(request: RequestContext, remaining: float | None) -> float | None:
    """Return how many seconds a request may wait in a queue; None: no deadline."""
    left = request.left_of(remaining)
    return None if left is None else left * PATIENCE_SHARE
