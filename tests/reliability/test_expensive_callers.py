from pathlib import Path

import pytest
from expensive_callers import KINDS, run

pytestmark = pytest.mark.exhaustive


@pytest.mark.parametrize("kind", KINDS)
def test_expensive_callers_cost_an_ordinary_one_no_answer(kind: str, tmp_path: Path) -> None:
    figures = run(tmp_path, kind, seconds=3)

    assert figures.is_sound, figures
