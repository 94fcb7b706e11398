"""Every claim of SECURITY.md names a test that exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROWS = [
    line
    for line in (ROOT / "SECURITY.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("|") and "`tests/" in line
]


def test_the_page_makes_claims() -> None:
    assert len(ROWS) >= 15


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("|")[1].strip()[:40])
def test_a_claim_names_its_test(row: str) -> None:
    for file, name in re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", row):
        text = (ROOT / file).read_text(encoding="utf-8")
        assert f"def {name}(" in text if name else "def test_" in text
