from pathlib import Path

from kill_nine import run


def test_a_killed_server_loses_nothing_that_it_acknowledged(tmp_path: Path) -> None:
    figures = run(tmp_path, cycles=10, seed=20)
    assert figures.faults == []
    assert figures.missing == 0
    assert figures.acknowledged > 10
    assert figures.torn_tails >= 1
    assert figures.torn_recovered == figures.torn_tails
