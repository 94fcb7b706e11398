"""Nothing that a program does to the analysis raises: it counts depth and work, and gives a verdict (guard.md §7)."""

import pytest
from guard_cases import verdict
from random_programs import program

from evalward.codes import Code


def test_random_programs_have_a_verdict() -> None:
    allowed = 0
    for seed in range(40):
        for profile in ("balanced", "strict"):
            first = verdict(program(seed), shape="async_body", profile=profile)
            assert first.code is not Code.INTERNAL, seed
            allowed += first.allowed
    assert allowed > 0


@pytest.mark.exhaustive
@pytest.mark.parametrize("block", range(8))
def test_many_random_programs_have_the_same_verdict_twice(block: int) -> None:
    for seed in range(block * 100, block * 100 + 100):
        for profile in ("balanced", "strict"):
            first = verdict(program(seed), shape="async_body", profile=profile)
            assert first == verdict(program(seed), shape="async_body", profile=profile), seed
