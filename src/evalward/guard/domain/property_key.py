"""A property key: the names that it may be, and what is known of the others (ECMA-262 §7.1.19)."""

from __future__ import annotations

from dataclasses import dataclass

from evalward.guard.domain.slots import REGISTERED_PREFIX, SYMBOL_PREFIX


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


_WELL_KNOWN = frozenset(
    f"@@{name}"
    for name in [
        "asyncDispose",
        "asyncIterator",
        "dispose",
        "hasInstance",
        "isConcatSpreadable",
        "iterator",
        "match",
        "matchAll",
        "replace",
        "search",
        "species",
        "split",
        "toPrimitive",
        "toStringTag",
        "unscopables",
    ]
)


def names_property(name: str) -> bool:
    """Whether a key names a property, by a string or a symbol (ECMA-262 §6.1.5.1); others are internal slots."""
    return name[:2] != SYMBOL_PREFIX or name[:3] == REGISTERED_PREFIX or name in _WELL_KNOWN
