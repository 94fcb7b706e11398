from pathlib import Path

import pytest
from overload import run

pytestmark = pytest.mark.exhaustive


def test_past_its_capacity_the_service_refuses_and_stays_healthy(tmp_path: Path) -> None:
    figures = run(tmp_path, seconds=3)

    assert figures.is_sound, figures
    assert figures.accepted > 0
