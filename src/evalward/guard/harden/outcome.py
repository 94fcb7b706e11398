"""What hardening a payload gives: the program to run instead of it, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evalward.guard.target import Shape, Target


@dataclass(frozen=True, slots=True)
class Hardened:
    """A program P' to run instead of a payload P.

    ``text`` is P', in ASCII. ``body`` is the same without the run-time, for people to read. ``shape`` is the shape in
    which P' runs and ``target`` the realm it is for. ``runtime`` identifies the run-time that is in ``text``.
    """

    text: bytes
    body: bytes
    shape: Shape
    target: Target
    runtime: str


@dataclass(frozen=True, slots=True)
class NotHardenable:
    """Why there is no program to run instead of a payload.

    ``construct`` is the construct's label, where one says what is refused, ``kind`` the grammar's node kind. ``start``
    and ``end`` are byte offsets in the payload. ``reason`` repeats nothing of the payload.
    """

    reason: str
    construct: str | None = None
    kind: str | None = None
    start: int = 0
    end: int = 0


class RefusedError(Exception):
    """Raised inside the emitter where a payload cannot be hardened; it never leaves the package."""

    def __init__(
        self,
        reason: str,
        *,
        construct: str | None = None,
        kind: str | None = None,
        start: int = 0,
        end: int = 0,
    ) -> None:
        super().__init__(reason)
        self.outcome = NotHardenable(reason, construct, kind, start, end)
