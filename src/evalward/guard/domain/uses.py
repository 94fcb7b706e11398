"""Uses of capabilities: the place of each and the trace to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evalward.guard.constructs.rank import Rank
    from evalward.guard.domain.span import Span


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a trace, in offsets of the wrapped source."""

    note: str
    span: Span


@dataclass(frozen=True, slots=True)
class Use:
    """A use that policy decides about: construct label, place and trace.

    ``rank``, a ``constructs.rank.Rank``, orders findings, the most specific first.
    """

    construct: str
    rank: Rank
    span: Span
    trace: tuple[Step, ...] = field(default=(), compare=False)
