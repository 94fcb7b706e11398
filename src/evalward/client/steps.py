"""The I/O that a client performs for the core: each step says what to send and how long to wait.

``call_flow`` yields these steps and gets their results back (sans-I/O); ``sync`` and ``aio`` perform them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, cast

if TYPE_CHECKING:
    from evalward.client.address import Address, Metadata

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Connect:
    """Wait until the channel is connected, at most ``seconds``. The result is a bool."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Unary:
    """Make one unary call. The result is ``(response, trailing metadata)``; raises RpcError."""

    path: str
    wire: bytes
    seconds: float
    metadata: Metadata


@dataclass(frozen=True, slots=True)
class Message:
    """Send one message of a stream, which the first one opens. The result is the next message, None for the end.

    Raises RpcError for a status, and TimeoutError when no message arrives within ``seconds``.
    """

    wire: bytes
    seconds: float
    metadata: Metadata


@dataclass(frozen=True, slots=True)
class Diagnose:
    """Find out why ``where`` cannot be reached. The result is a Reason; raises TimeoutError."""

    where: Address


Step: TypeAlias = Connect | Unary | Message | Diagnose
Steps: TypeAlias = Generator[Step, Any, T]
"""A generator of steps that returns T: send it the result of each step, or throw it the step's exception."""


class Progress(Generic[T]):
    """Runs ``steps``: perform ``step``, then report its result or its exception, until ``step`` is None.

    Then ``result`` is what the steps return.
    """

    def __init__(self, steps: Steps[T]) -> None:
        self._steps = steps
        self._result: T | None = None
        self.step: Step | None = None
        self._advance(partial(next, steps))

    @property
    def result(self) -> T:
        """What the steps return; valid once ``step`` is None."""
        return cast("T", self._result)

    def succeed(self, result: Any) -> None:
        """Report the result of ``step``."""
        self._advance(partial(self._steps.send, result))

    def fail(self, error: Exception) -> None:
        """Report the exception of ``step``; raises it when no step handles it."""
        self._advance(partial(self._steps.throw, error))

    def _advance(self, resume: Callable[[], Step]) -> None:
        try:
            self.step = resume()
        except StopIteration as end:
            self.step, self._result = None, end.value
