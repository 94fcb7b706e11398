"""A property key: the names that it may be, and what is known of the others (ECMA-262 §7.1.19)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Key:
    """A property key: its names when they are known, and what else it may be."""

    names: tuple[str, ...]
    numeric: bool = False
    unknown: bool = False
    tainted: bool = False
    decoded: bool = False  # may spell any name
    hidden: bool = False  # the payload decodes it from its own text
    elsewhere: bool = False  # has a prefix that no dangerous name has
