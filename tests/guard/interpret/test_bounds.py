"""Every numeric bound of the analysis: a program past it is denied, or still resolved; none is reached in silence."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from evalward import validate
from evalward.guard.target import Profile, Shape, Target
from evalward.policy import Policy

HERE = Path(__file__).parent
GUARD = HERE.parents[2] / "src" / "evalward" / "guard"
STAGES = ("builtins", "catalogue", "domain", "interpret", "lower", "screen")
BOUND = re.compile(
    r"^(_?(?:[A-Z]+_)*(?:MAX|MOST|MIN|LIMIT|DEPTH|NESTING|DEEPEST|LONGEST|DIGITS|BITS|STEPS?)(?:_[A-Z]+)*)"
    r"(?:: [\w\[\]]+)? = [\d(-]",
    re.MULTILINE,
)
REPEATED = re.compile(r"«(.*?) \* (\d+)»", re.DOTALL)
BOUNDS: dict[str, dict[str, dict[str, Any]]] = yaml.safe_load(
    (HERE / "bounds.yaml").read_text(encoding="utf-8")
)
PROGRAMS = [
    pytest.param(row["program"], Target(row.get("target", "renderer")), id=f"{module}-{name}")
    for module, names in BOUNDS.items()
    for name, row in names.items()
    if "program" in row
]


def in_the_source() -> set[str]:
    files = [*GUARD.glob("*.py"), *(path for stage in STAGES for path in (GUARD / stage).rglob("*.py"))]
    return {
        f"{'.'.join(path.relative_to(GUARD).with_suffix('').parts)}.{name}"
        for path in files
        for name in BOUND.findall(path.read_text(encoding="utf-8"))
    } - {"verdict.MAX_FINDINGS"}  # of a reply


def test_every_bound_has_a_program_or_a_reason() -> None:
    assert {f"{module}.{name}" for module, names in BOUNDS.items() for name in names} == in_the_source()


@pytest.mark.parametrize("profile", [Profile.BALANCED, Profile.STRICT])
@pytest.mark.parametrize(("program", "target"), PROGRAMS)
def test_a_program_past_a_bound_is_denied(program: str, target: Target, profile: Profile) -> None:
    text = REPEATED.sub(lambda found: found[1] * int(found[2]), program)
    policy = Policy.default().with_profile(profile).allowing([target])
    assert not validate(text.encode(), target=target, shape=Shape.SCRIPT, policy=policy).allowed
