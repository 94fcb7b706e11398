from pathlib import Path

import pytest
from idle_streams import KINDS, run

pytestmark = pytest.mark.exhaustive


@pytest.mark.parametrize("kind", KINDS)
def test_who_holds_streams_open_shuts_nobody_out(kind: str, tmp_path: Path) -> None:
    figures = run(tmp_path, kind, seconds=4)

    assert figures.is_sound, figures
