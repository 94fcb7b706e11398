"""The files that the design pages name exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUARD = ROOT / "src" / "evalward" / "guard"
RUNTIME = ROOT / "runtime"
BASES = (ROOT, GUARD.parent, GUARD, GUARD / "harden", RUNTIME, RUNTIME / "src")
PAGES = [ROOT / "docs" / "architecture.md", *sorted(ROOT.glob("docs/design/*.md"))]
METHODS = {"tools/list"}  # of MCP
_PATH = re.compile(r"`((?:[\w.*-]+/)+[\w.*-]*)`")
_MODULE = re.compile(r"`([\w]+\.(?:py|toml))`")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_path_exists(page: Path) -> None:
    named = set(_PATH.findall(page.read_text("utf-8"))) - METHODS

    assert [name for name in sorted(named) if not any(any(base.glob(name)) for base in BASES)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_module_that_is_named_without_a_folder_exists(page: Path) -> None:
    named = set(_MODULE.findall(page.read_text("utf-8")))

    assert [
        name
        for name in sorted(named)
        if not any(ROOT.joinpath("src").rglob(name)) and not (ROOT / name).exists()
    ] == []
