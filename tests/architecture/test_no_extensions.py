"""A checkout has no compiled module: one would run in place of the source next to it, and hide an edit."""

from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"


def test_the_checkout_has_no_extension() -> None:
    assert not [path for path in SOURCE.rglob("*") if path.name.endswith(tuple(EXTENSION_SUFFIXES))]
