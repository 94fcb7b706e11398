"""The guard: a pure, deterministic function of (payload, target, shape, rules) to a verdict."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from evalward.guard.ruleset import RULESET
from evalward.guard.syntax.grammar import GRAMMAR

if TYPE_CHECKING:
    from collections.abc import Callable

    from evalward.guard.rules import Rules
    from evalward.guard.syntax.program import ParsedProgram
    from evalward.guard.target import Shape, Target
    from evalward.guard.verdict import Verdict

__all__ = ["GRAMMAR", "RULESET", "judge"]


def judge(  # noqa: PLR0913 - what a verdict follows from
    payload: bytes,
    *,
    target: Target,
    shape: Shape | None,
    rules: Rules,
    sink: str | None = None,
    readings: list[ParsedProgram] | None = None,
) -> Verdict:
    """Return the verdict on ``payload``, as ``evalward.guard.pipeline.judge`` does."""
    return _pipeline()(payload, target=target, shape=shape, rules=rules, sink=sink, readings=readings)


@cache
def _pipeline() -> Callable[..., Verdict]:
    # Its interpreter takes 5 MB, which a server's own process does not spend: its workers judge.
    from evalward.guard.pipeline import judge as judge_here  # noqa: PLC0415

    return judge_here
