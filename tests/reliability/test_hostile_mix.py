from pathlib import Path

import pytest
from hostile_mix import run

pytestmark = pytest.mark.exhaustive


@pytest.mark.parametrize("fronts", [1, 2])
def test_beside_everything_hostile_no_benign_call_is_lost(fronts: int, tmp_path: Path) -> None:
    figures = run(tmp_path, seconds=4, workers=1, fronts=fronts)

    assert figures.is_sound, figures
    assert figures.hostile
    assert min(figures.malformed, figures.unread, figures.half_sent, figures.reset) > 0
