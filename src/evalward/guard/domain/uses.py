"""What the interpreter finds: a use of a capability, where it is and how it came about."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evalward.guard.constructs.rank import Rank
    from evalward.guard.domain.span import Span


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a value's way, in offsets of the wrapped source."""

    note: str
    span: Span


@dataclass(frozen=True, slots=True)
class Use:
    """A use that policy decides about: what (a construct label), where, how it got there.

    ``rank``, a ``constructs.rank.Rank``, orders findings, the most telling first.
    """

    construct: str
    rank: Rank
    span: Span
    trace: tuple[Step, ...] = field(default=(), compare=False)
