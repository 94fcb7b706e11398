"""What the guard's tests share: case files, and the guard with the target opted in."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from evalward.guard import judge
from evalward.guard.rules import Limits, Rules
from evalward.guard.syntax.shapes import Rejection, programs_of
from evalward.guard.syntax.survey import survey
from evalward.guard.target import Profile, Shape, Target

if TYPE_CHECKING:
    from evalward.guard.verdict import Verdict

FOLDER = Path(__file__).parent
RULES = Rules(allowed=True)


def cases(name: str) -> Any:
    """Return the content of the case file ``name``, such as ``syntax/shapes``, in tests/guard."""
    return yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))


def over(name: str) -> pytest.MarkDecorator:
    """Parametrize a test over the cases of a file in tests/guard, such as ``syntax/shapes``."""
    rows = cases(name)
    return pytest.mark.parametrize("case", rows, ids=[row.get("id") or row["code"][:40] for row in rows])


def verdict(  # noqa: PLR0913 - what decides about a payload
    code: str | bytes,
    *,
    shape: str | None = None,
    profile: str = "balanced",
    rules: Rules = RULES,
    target: Target = Target.MAIN,
    sink: str | None = None,
) -> Verdict:
    payload = code.encode() if isinstance(code, str) else code
    return judge(
        payload,
        target=target,
        shape=Shape(shape) if shape else None,
        rules=replace(rules, profile=Profile(profile)),
        sink=sink,
    )


def front_end(code: str, *, shape: str | None = None) -> Any:
    """Return what the front end says before any value is resolved: a Rejection, or the surveys."""
    limits = Limits()
    programs = programs_of(code.encode(), Shape(shape) if shape else None, limit_bytes=limits.payload_bytes)
    if isinstance(programs, Rejection):
        return programs
    surveys = [survey(program, limits) for program in programs]
    rejected = [each for each in surveys if isinstance(each, Rejection)]
    return rejected[0] if rejected else surveys
