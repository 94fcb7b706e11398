"""The value of ``--allow-eval``: which targets an operator opts in (contract.md §4)."""

from __future__ import annotations

from evalward.errors import Code, CodedError, Repair
from evalward.guard.target import TARGET_ALIASES, Target, parse_target
from evalward.similar import did_you_mean

ALL_TARGETS = "all"


def parse_allow_eval(value: str) -> frozenset[Target]:
    """Return the targets of a comma-separated list; ``all`` (the bare flag) means every target.

    An empty value opts nothing in, so that an unset variable in ``--allow-eval=$TARGETS`` cannot open every
    target. Raise CodedError (CONFIG_INVALID) that lists the allowed names for any other.
    """
    if not value.strip():
        return frozenset()
    names = [name.strip() for name in value.split(",")]
    if names == [ALL_TARGETS]:
        return frozenset(Target)
    try:
        return frozenset(parse_target(name) for name in names)
    except ValueError:
        allowed = [*Target, *TARGET_ALIASES, ALL_TARGETS]
        meant = next(filter(None, (did_you_mean(name, allowed) for name in names if name not in allowed)), "")
        raise CodedError(
            Code.CONFIG_INVALID,
            f"--allow-eval takes targets separated by commas, or {ALL_TARGETS} alone; the targets are "
            + ", ".join(allowed[:-1])
            + meant,
            repair=Repair(field="/allow_eval", allowed=allowed),
        ) from None
