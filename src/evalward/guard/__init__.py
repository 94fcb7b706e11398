"""The guard: a pure, deterministic function of (payload, target, shape, rules) to a verdict."""

from __future__ import annotations

from evalward.guard.judge import judge
from evalward.guard.ruleset import RULESET
from evalward.guard.syntax.grammar import GRAMMAR

__all__ = ["GRAMMAR", "RULESET", "judge"]
