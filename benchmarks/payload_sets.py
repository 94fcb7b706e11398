"""Compose benchmark payloads of a given size from the units in ``payloads/``.

``ordinary`` units hold no capability word and no unresolved key, ``loaded`` ones need the resolver; the
``-minified`` folders hold what terser makes of them. Every unit is an expression statement, so that units
can stand one after another in any order and number.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

PAYLOADS = Path(__file__).parent / "payloads"
SIZES = {"100 B": 100, "1 KB": 1_000, "10 KB": 10_000, "100 KB": 100_000}
TARGETS = {"ordinary": "renderer", "loaded": "main"}


@dataclass(frozen=True, slots=True)
class Payload:
    """A payload, named by the three axes along which the benchmark varies it."""

    load: str
    style: str
    size: str
    code: bytes

    @property
    def target(self) -> str:
        """The target whose code it resembles."""
        return TARGETS[self.load]


def compose(load: str, style: str, size: str) -> Payload:
    """Return the payload of as many units, in turn, as fit the size."""
    return Payload(load, style, size, code_within(load, style, SIZES[size]))


def code_within(load: str, style: str, room: int) -> bytes:
    """Return as many units, in turn, as fit into ``room`` bytes."""
    minified = style == "minified"
    folder = PAYLOADS / (f"{load}-minified" if minified else load)
    units = [path.read_bytes().strip() for path in sorted(folder.glob("*.js"))]
    joint = b"" if minified else b"\n"
    chosen: list[bytes] = []
    smallest = min(map(len, units)) + len(joint)
    for unit in cycle(units):
        if room < smallest:
            break
        if len(unit) + len(joint) <= room:
            chosen.append(unit)
            room -= len(unit) + len(joint)
    return joint.join(chosen)


def all_payloads() -> list[Payload]:
    """Return every combination of load, style and size."""
    return [
        compose(load, style, size)
        for load in TARGETS
        for style in ("realistic", "minified")
        for size in SIZES
    ]
