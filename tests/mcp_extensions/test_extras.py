"""The versions that the extras pin, and that the older versions under test are the ones before."""

import re
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
RANGE = re.compile(r"(fastmcp|mcp)>=(\d+),<(\d+)")


def test_the_extras_pin_one_major_version_and_the_older_ones_end_where_it_begins() -> None:
    extras = tomllib.loads((HERE.parents[1] / "pyproject.toml").read_text("utf-8"))["project"][
        "optional-dependencies"
    ]
    pinned = {
        name: (low, high)
        for text in (*extras["fastmcp"], *extras["mcp"])
        for name, low, high in RANGE.findall(text)
    }
    older = {name: (low, high) for name, low, high in RANGE.findall((HERE / "older.txt").read_text("utf-8"))}

    assert pinned == {"fastmcp": ("4", "5"), "mcp": ("2", "3")}
    assert older == {"fastmcp": ("3", "4"), "mcp": ("1", "2")}
