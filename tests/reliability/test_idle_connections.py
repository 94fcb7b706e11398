from pathlib import Path

import pytest
from idle_connections import run

pytestmark = pytest.mark.exhaustive


@pytest.mark.parametrize("kind", ["one_host", "many_hosts", "returning"])
def test_idle_connections_keep_nobody_out(kind: str, tmp_path: Path) -> None:
    figures = run(tmp_path, kind, seconds=2, connections=600, max_connections=128)

    assert figures.is_sound, figures
