from pathlib import Path

import pytest
from replicas import ANSWERS_BETWEEN, BALANCERS, run

pytestmark = pytest.mark.exhaustive


@pytest.mark.parametrize("balancer", BALANCERS)
def test_when_a_replica_is_killed_verdicts_go_on_and_none_is_wrong(balancer: str, tmp_path: Path) -> None:
    figures = run(tmp_path, kills=2, balancer=balancer)

    assert figures.wrong == []
    assert figures.right >= 2 * ANSWERS_BETWEEN
