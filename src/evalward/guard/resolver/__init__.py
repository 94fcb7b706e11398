"""Value resolution: which capabilities a payload reaches, by abstract interpretation (guard.md §2)."""

from evalward.guard.resolver.resolve import resolve
from evalward.guard.resolver.state import AnalysisLimitError

__all__ = ["AnalysisLimitError", "resolve"]
