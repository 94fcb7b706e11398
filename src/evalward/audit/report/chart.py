"""Denials over time as an inline SVG of stacked bars, without script, style attribute or text of the log."""

from __future__ import annotations

from math import ceil, floor, log10
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evalward.audit.report.facts import Series

WIDTH: Final = 760
HEIGHT: Final = 230
_LEFT: Final = 48
_BOTTOM: Final = 26
_TOP: Final = 8
_LABELS: Final = 6
_LINES: Final = 4
_GAP: Final = 0.22
"""The share of a step that is free between two bars."""


def chart(series: Series) -> str:
    """Return the chart; the classes ``s0``, ``s1`` … have the colours of the reasons, in their order."""
    steps = len(series.begins)
    totals = [sum(counts[step] for counts in series.denied.values()) for step in range(steps)]
    tick = _tick(max(totals, default=0))
    ceiling = tick * ceil(max(*totals, 1) / tick) if totals else 1
    peak = max(range(steps), key=totals.__getitem__, default=0)
    said = (
        f"Denials for each {series.unit}: {sum(totals):,} in all, the most, {totals[peak]:,}, at"
        f" {series.begins[peak]} UTC"
        if steps
        else "No denials"
    )
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{said}">',
        *_axis(tick, ceiling),
        *_bars(series, ceiling),
        *_times(series),
        "</svg>",
    ]
    return "".join(parts)


def _tick(most: int) -> int:
    """Return the distance of two lines: 1, 2 or 5 times a power of ten."""
    rough = max(most / _LINES, 1)
    power = 10 ** floor(log10(rough))
    return int(next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough))


def _axis(tick: int, ceiling: int) -> Iterator[str]:
    for value in range(0, ceiling + 1, tick):
        y = _y(value, ceiling)
        yield f'<line class="grid" x1="{_LEFT}" x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text class="tick end" x="{_LEFT - 8}" y="{y + 4:.1f}">{value:,}</text>'


def _bars(series: Series, ceiling: int) -> Iterator[str]:
    step = (WIDTH - _LEFT) / max(len(series.begins), 1)
    width = max(step * (1 - _GAP), 0.6)
    for index in range(len(series.begins)):
        below = 0
        x = _LEFT + step * index + (step - width) / 2
        for place, counts in enumerate(series.denied.values()):
            if not counts[index]:
                continue
            top, bottom = _y(below + counts[index], ceiling), _y(below, ceiling)
            below += counts[index]
            yield (
                f'<rect class="s{place}" x="{x:.1f}" y="{top:.1f}" width="{width:.1f}" height="{bottom - top:.1f}"/>'
            )


def _times(series: Series) -> Iterator[str]:
    steps = len(series.begins)
    every = max(ceil(steps / _LABELS), 1)
    width = (WIDTH - _LEFT) / max(steps, 1)
    for index in range(0, steps, every):
        x = _LEFT + width * (index + 0.5)
        yield f'<text class="tick middle" x="{x:.1f}" y="{HEIGHT - 6}">{series.begins[index]}</text>'


def _y(value: float, ceiling: int) -> float:
    return _TOP + (HEIGHT - _TOP - _BOTTOM) * (1 - value / ceiling)
