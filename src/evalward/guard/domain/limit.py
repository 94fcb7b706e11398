"""The end of an analysis that takes too many steps."""

from __future__ import annotations

from typing import Final

TOO_MANY_STEPS: Final = 10**9
"""More steps than any budget has: to spend them ends the analysis."""


class AnalysisLimitError(Exception):
    """The step budget was used up; ``steps`` is how many were allowed."""

    def __init__(self, steps: int) -> None:
        super().__init__(f"the resolver's budget of {steps} steps is used up")
        self.steps = steps
