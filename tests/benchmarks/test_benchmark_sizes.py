"""benchmarks/sizes.py runs, prints a row for each load and size, and draws a chart of the same figures."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"
CHART = ROOT / "docs/images/cost-by-size.svg"
SVG = "{http://www.w3.org/2000/svg}"

sys.path.insert(0, str(BENCHMARKS))

from line_chart import Line, draw, powers_of_ten  # noqa: E402 - a script's own folder, as Python adds it


def run(*arguments: object) -> str:
    """Return what the benchmark prints for the smallest sizes, without guards in Node."""
    command = [
        *(sys.executable, BENCHMARKS / "sizes.py", "--rounds", 1, "--largest", 256, "--no-node"),
        *arguments,
    ]
    return subprocess.run(
        [str(each) for each in command], capture_output=True, text=True, check=True, timeout=120
    ).stdout


def texts(image: str) -> list[str]:
    """Return all texts of an image."""
    return [each.text or "" for each in ET.fromstring(image).iter(f"{SVG}text")]


def test_each_size_has_a_row_and_the_chart_a_line_for_each_guard(tmp_path: Path) -> None:
    rows = json.loads(run("--json", "--chart", tmp_path / "chart.svg"))["payloads"]

    assert {(row["load"], row["size"]) for row in rows} == {
        (load, size) for load in ("ordinary", "loaded") for size in (128, 256)
    }
    assert all(row["bytes"] <= row["size"] and row["us"]["evalward"] > row["us"]["parse"] > 0 for row in rows)
    drawn = texts((tmp_path / "chart.svg").read_text())
    assert {"evalward, ordinary", "evalward, loaded", "parse"} <= set(drawn)


def test_without_json_it_prints_a_table() -> None:
    lines = run().splitlines()

    assert lines[0] == "| load | size | evalward µs | parse µs |"
    assert len([line for line in lines if line.startswith(("| ordinary", "| loaded"))]) == 4


def test_a_line_rises_with_its_values() -> None:
    axis = powers_of_ten("x", [2, 900], str)
    image = draw("a < b", axis, axis, [Line("one", ((1, 1), (1000, 1000)))])

    (path,) = [each.get("d") or "" for each in ET.fromstring(image).iter(f"{SVG}path") if each.get("fill")]
    (left, bottom), (right, top) = (map(float, pair.split()) for pair in path[1:].split("L"))
    assert left < right
    assert top < bottom  # an image counts downwards
    assert [mark for mark, _ in axis.marks] == [1, 10, 100, 1000]
    assert texts(image)[0] == "a < b"


def test_the_chart_of_the_documentation_has_every_guard_and_size() -> None:
    drawn = texts(CHART.read_text())
    assert {"evalward, ordinary", "evalward, loaded", "parse", "acorn", "js-x-ray"} <= set(drawn)
    assert "128 KiB" in drawn
    page = (ROOT / "docs/explanation/performance.md").read_text()
    assert re.search(r"!\[[^\]]+\]\(\.\./images/cost-by-size\.svg\)", page)
