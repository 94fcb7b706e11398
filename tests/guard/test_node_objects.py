"""What hangs off objects that Node's timers and web classes give is followed like any other road."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from evalward import Policy, validate
from evalward.guard.target import Target

CASES = yaml.safe_load((Path(__file__).parent / "data" / "node_objects.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["code"][:50])
def test_an_escape_through_an_object_of_node_is_blocked(case: dict[str, str]) -> None:
    verdict = validate(
        case["code"].encode(), target=Target.MAIN, policy=Policy.default().allowing([Target.MAIN])
    )

    assert str(verdict.construct) == case["construct"]


@pytest.mark.parametrize(
    "code",
    [
        "const id = setTimeout(() => {}, 10); id.unref?.(); clearTimeout(id); typeof id",
        "const pending = {}; pending[setTimeout(() => {}, 10)] = true; Object.keys(pending).length",
        "const headers = new Headers(); headers.set('a', '1'); headers.get('a')",
    ],
)
def test_their_ordinary_use_is_allowed(code: str) -> None:
    verdict = validate(code.encode(), target=Target.MAIN, policy=Policy.default().allowing([Target.MAIN]))

    assert verdict.code is None
