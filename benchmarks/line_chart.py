"""Draw lines over two logarithmic axes as an SVG image: a page of the documentation shows it as it is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

WIDTH, HEIGHT = 760, 440
LEFT, RIGHT, TOP, BOTTOM = 70, 190, 34, 50
# Okabe and Ito's palette, which people with any kind of colour vision can distinguish.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")


@dataclass(frozen=True, slots=True)
class Line:
    """A name, and points (x, y), all of them above 0."""

    name: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Axis:
    """A title, the marks in rising order, each a value and its text, and the values at the two ends."""

    title: str
    marks: tuple[tuple[float, str], ...]
    ends: tuple[float, float]

    def scaled(self, start: float, end: float) -> Callable[[float], float]:
        """Return the function that maps a value to its place between ``start`` and ``end``."""
        low, high = map(math.log, self.ends)
        return lambda value: start + (math.log(value) - low) / (high - low) * (end - start)


def powers_of_ten(title: str, values: Sequence[float], text: Callable[[float], str]) -> Axis:
    """Return an axis from the power of ten below the smallest of ``values`` to the one above the largest."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    marks = [10.0**exponent for exponent in range(low, high + 1)]
    return Axis(title, tuple((mark, text(mark)) for mark in marks), (marks[0], marks[-1]))


def draw(title: str, across: Axis, upwards: Axis, lines: Sequence[Line]) -> str:
    """Return the image; the legend names the lines in the order of their last values."""
    x, y = across.scaled(LEFT, WIDTH - RIGHT), upwards.scaled(HEIGHT - BOTTOM, TOP)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(title)}" font-family="sans-serif" font-size="12">'
    )
    return "\n".join(
        [
            head,
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
            f'<text x="{LEFT}" y="18" font-weight="bold">{escape(title)}</text>',
            *_grid(across, upwards, x, y),
            *_drawn(lines, x, y),
            "</svg>",
            "",
        ]
    )


def _grid(
    across: Axis, upwards: Axis, x: Callable[[float], float], y: Callable[[float], float]
) -> Iterator[str]:
    left, right, bottom = LEFT, WIDTH - RIGHT, HEIGHT - BOTTOM
    for value, text in across.marks:
        yield f'<path d="M{x(value):.1f} {TOP}V{bottom}" stroke="#ddd"/>'
        yield f'<text x="{x(value):.1f}" y="{bottom + 18}" text-anchor="middle">{escape(text)}</text>'
    for value, text in upwards.marks:
        yield f'<path d="M{left} {y(value):.1f}H{right}" stroke="#ddd"/>'
        yield f'<text x="{left - 8}" y="{y(value) + 4:.1f}" text-anchor="end">{escape(text)}</text>'
    yield f'<text x="{(left + right) / 2:.1f}" y="{HEIGHT - 10}" text-anchor="middle">{escape(across.title)}</text>'
    turned = f"translate(16 {(TOP + bottom) / 2:.1f}) rotate(-90)"
    yield f'<text transform="{turned}" text-anchor="middle">{escape(upwards.title)}</text>'


def _drawn(lines: Sequence[Line], x: Callable[[float], float], y: Callable[[float], float]) -> Iterator[str]:
    lowest = float(HEIGHT)
    for line, colour in sorted(zip(lines, COLOURS, strict=False), key=lambda each: each[0].points[-1][1]):
        places = [f"{x(one):.1f} {y(other):.1f}" for one, other in line.points]
        yield f'<path d="M{"L".join(places)}" fill="none" stroke="{colour}" stroke-width="2"/>'
        # Names of lines that end near each other are moved apart.
        lowest = min(lowest - 15, y(line.points[-1][1]) + 4)
        yield f'<text x="{WIDTH - RIGHT + 8}" y="{lowest:.1f}" fill="{colour}">{escape(line.name)}</text>'
