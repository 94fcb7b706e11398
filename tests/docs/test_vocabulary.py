"""The vocabulary lists every unknown and every slot of the guard's domain, with its distance."""

import re
from pathlib import Path

from evalward.guard.domain import atoms, slots

PAGE = Path(__file__).parents[2].joinpath("docs", "design", "vocabulary.md").read_text("utf-8")


def rows(heading: str) -> list[tuple[str, ...]]:
    """Return the cells of the table below a heading."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return [
        tuple(cell.strip("` ") for cell in row.split(" | "))
        for row in re.findall(r"^\| (`.*) \|$", section, re.MULTILINE)
    ]


def test_every_unknown_is_listed_with_its_distance() -> None:
    defined = {name: atom.distance for name, atom in vars(atoms).items() if isinstance(atom, atoms.Unknown)}

    assert {name: int(distance) for name, distance, _ in rows("Unknowns")} == defined


def test_every_slot_is_listed() -> None:
    defined = {name for name in vars(slots) if name.isupper()}

    assert {name for name, _ in rows("Slots")} == defined
