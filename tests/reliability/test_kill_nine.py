from pathlib import Path

import pytest
from kill_nine import run


@pytest.mark.parametrize("cycles", [3, pytest.param(10, marks=pytest.mark.exhaustive)])
def test_a_killed_server_loses_nothing_that_it_acknowledged(cycles: int, tmp_path: Path) -> None:
    figures = run(tmp_path, cycles=cycles, seed=20)
    assert figures.faults == []
    assert figures.missing == 0
    assert figures.acknowledged > cycles
    assert figures.torn_tails >= 1
    assert figures.torn_recovered == figures.torn_tails
