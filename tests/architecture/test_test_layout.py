"""The folders of tests are the packages, and those that CONTRIBUTING.md lists."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "evalward"
TESTS = ROOT / "tests"
# Generated code is tested with the server, and a folder called ``mcp`` would hide the SDK.
ELSEWHERE = {"v1": "server", "gateways": "server", "mcp": "mcp_extensions"}
# These are tested through the stages that use them.
THROUGH_OTHERS = {"sinks"}


def packages(folder: Path) -> set[str]:
    return {path.parent.name for path in folder.glob("*/__init__.py")}


def folders(folder: Path) -> set[str]:
    return {path.parent.name for path in folder.glob("*/*") if path.is_file()} - {"__pycache__"}


def listed() -> set[str]:
    """Return the folders in the table of CONTRIBUTING.md."""
    section = ROOT.joinpath("CONTRIBUTING.md").read_text("utf-8").partition("## How a change is tested")[2]
    table = section.partition("| folder |")[2].partition("\n\n")[0]
    cells = re.findall(r"^\|([^|]+)\|", table, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}


def test_each_package_has_a_folder_of_tests() -> None:
    expected = {ELSEWHERE.get(name, name) for name in packages(PACKAGE)}
    assert expected - folders(TESTS) == set()


def test_each_folder_of_tests_is_that_of_a_package_or_listed() -> None:
    known = packages(PACKAGE) | {*ELSEWHERE.values()}
    assert folders(TESTS) - known == listed()


def test_each_stage_of_the_guard_has_a_folder_of_tests() -> None:
    assert folders(TESTS / "guard") == packages(PACKAGE / "guard") - THROUGH_OTHERS
