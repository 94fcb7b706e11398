"""The audit of intrinsics (``intrinsics.toml``): what a run-time of hardened output does about each of them."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Literal

Class = Literal["harmless", "mediated", "denied", "objects", "data"]

_FILE: Final = Path(__file__).with_name("intrinsics.toml")
_PLAIN: Final = ("objects", "data")
_PARTLY_DENIED: Final = ("Function.prototype", "Error")
_LINE: Final = 118
_JOIN: Final = "\n  + "
_FIRST: Final = ord("(")
_DIGITS: Final = 86
_CODES: Final = _DIGITS**3


@dataclass(frozen=True, slots=True)
class Intrinsic:
    """One property of an intrinsic object: ``holder`` is a path, ``name`` a key, ``get x`` or ``set x``.

    ``by`` is the reason of a harmless one, the handler of a mediated one, the construct of a denied one.
    """

    holder: str
    name: str
    status: Class
    by: str
    reason: str


@cache
def audit() -> dict[tuple[str, str], Intrinsic]:
    """Return the whole list by holder and name.

    Raises ValueError for a property that is listed twice, KeyError for one without a reason.
    """
    data = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    listed = dict[tuple[str, str], Intrinsic]()
    for holder, table in data["holders"].items():
        for status, given in table.items():
            groups = {"": given} if status in _PLAIN else given
            for by, names in groups.items():
                reason = "" if status in _PLAIN else data["reasons"][status][by]
                for name in names.split():
                    entry = Intrinsic(holder, name.replace(":", " ", 1), status, by, reason)
                    if (holder, entry.name) in listed:
                        raise ValueError(f"listed twice: {holder} {name}")
                    listed[holder, entry.name] = entry
    return listed


def known_names() -> list[str]:
    """Return the keys of all functions that the run-time looks up by name, sorted.

    What is denied with its holder needs no name: no payload gets at the members of ``WebAssembly``, or at call sites.
    """
    return sorted(
        {
            entry.name.split(" ")[-1]
            for entry in audit().values()
            if entry.status in {"harmless", "mediated"}
            or (entry.status == "denied" and entry.holder in _PARTLY_DENIED)
            if not entry.name.startswith("%")
        }
    )


def name_code(name: str) -> str:
    """Return the three characters that stand for ``name``; one of 1,000 other names has a code of the list."""
    number = 0
    for character in name:
        number = (number * 31 + ord(character)) % _CODES
    return "".join(chr(_FIRST + number // _DIGITS**place % _DIGITS) for place in range(3))


def names_module() -> str:
    """Return the text of ``runtime/src/intrinsics/names.js``."""
    everywhere = known_names()
    listed = audit()
    of_the_global = [name for name in everywhere if ("", name) in listed]
    return (
        "/**\n"
        " * Codes of the names of all functions that the audit lists, three characters each (recognise.js).\n"
        " * Made of src/evalward/guard/harden/intrinsics.toml.\n"
        " */\n"
        f"export const NAMES = {_codes(everywhere)};\n"
        "\n/** Codes of those that the global object has. */\n"
        f"export const GLOBALS = {_codes(of_the_global)};\n"
    )


def _codes(names: list[str]) -> str:
    """Return the codes of ``names`` as a JavaScript expression."""
    text = "".join(sorted({name_code(name) for name in names}))
    width = _LINE // 3 * 3
    lines = [text[at : at + width] for at in range(0, len(text), width)]
    return _JOIN.join("'" + line.replace("\\", "\\\\") + "'" for line in lines)
