from pathlib import Path

import pytest
from descriptor_limit import run

pytestmark = pytest.mark.exhaustive


def test_a_server_that_had_no_descriptors_comes_back_by_itself(tmp_path: Path) -> None:
    figures = run(tmp_path, seconds=1)

    assert figures.passed, figures
