from pathlib import Path

import pytest
from overload import run

pytestmark = pytest.mark.exhaustive


@pytest.mark.parametrize("fronts", [1, 2])
def test_past_its_capacity_the_service_refuses_and_stays_healthy(fronts: int, tmp_path: Path) -> None:
    figures = run(tmp_path, seconds=3, fronts=fronts)

    assert figures.is_sound, figures
    assert figures.accepted > 0
