"""The colours of charts differ for people with any kind of colour blindness, in both themes.

Matrices: Machado, Oliveira and Fernandes (2009), A Physiologically-based Model for Simulation of Color Vision
Deficiency, at full severity, on linear RGB. Distances are those of CIE 1976 L*a*b* with the white point D65.
"""

from __future__ import annotations

import re
from itertools import combinations
from math import dist
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHEETS = {
    "report": ROOT / "src/evalward/static_page/page.css",
    "playground": ROOT / "src/evalward/playground/static/app.css",
}
SIGHT = {
    "full": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
TO_XYZ = ((0.4339, 0.3762, 0.1899), (0.2126, 0.7152, 0.0722), (0.0177, 0.1095, 0.8728))
"""From linear RGB (sRGB, IEC 61966-2-1), relative to the white point."""
LEAST = 16
"""Two colours at a distance of 2.3 are just different; fields of a chart that are not side by side need more."""
COLOUR = re.compile(r"--(s\d): (?:light-dark\((#\w{6}), (#\w{6})\)|(#\w{6}));")


def series(css: str) -> dict[str, dict[str, str]]:
    """Return the colours of the series in each theme; a later value for a name is that of the dark one."""
    light: dict[str, str] = {}
    dark: dict[str, str] = {}
    for name, for_light, for_dark, same in COLOUR.findall(css):
        light.setdefault(name, for_light or same)
        dark[name] = for_dark or same
    return {"light": light, "dark": dark}


def product(matrix: tuple[tuple[float, ...], ...], vector: list[float]) -> list[float]:
    return [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]


def linear(colour: str) -> list[float]:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def lab(rgb: list[float]) -> tuple[float, float, float]:
    clipped = [min(max(part, 0), 1) for part in rgb]
    x, y, z = (
        part ** (1 / 3) if part > 0.008856 else 7.787 * part + 16 / 116 for part in product(TO_XYZ, clipped)
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("sheet", SHEETS)
def test_any_two_series_can_be_told_apart(sheet: str, theme: str, sight: str) -> None:
    colours = series(SHEETS[sheet].read_text("utf-8"))[theme]
    seen = {name: lab(product(SIGHT[sight], linear(colour))) for name, colour in colours.items()}

    assert len(seen) == 7
    assert {
        (one, other): round(dist(seen[one], seen[other]), 1)
        for one, other in combinations(seen, 2)
        if dist(seen[one], seen[other]) < LEAST
    } == {}
