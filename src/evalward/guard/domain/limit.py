"""The end of an analysis that takes too many steps."""

from __future__ import annotations


class AnalysisLimitError(Exception):
    """The step budget was used up; ``steps`` is how many were allowed."""

    def __init__(self, steps: int) -> None:
        super().__init__(f"the resolver's budget of {steps} steps is used up")
        self.steps = steps
