from pathlib import Path

import pytest
from floods import run

pytestmark = pytest.mark.exhaustive


@pytest.mark.parametrize("kind", ["rapid_reset", "pings", "no_token", "marked"])
def test_a_flood_costs_no_answer_and_leaves_no_text(kind: str, tmp_path: Path) -> None:
    figures = run(tmp_path, kind, seconds=1)

    assert figures.is_sound, figures
