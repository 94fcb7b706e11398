"""Every entry of the catalogue names only entries that exist."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.catalogue import load_catalogue

if TYPE_CHECKING:
    from evalward.guard.catalogue.entries import Entry

CATALOGUE = load_catalogue()
PLAIN = {
    *{"string", "text", "number", "boolean", "bigint", "undefined"},
    *{"plain", "data", "unknown", "symbol", "decoded", "element", "numeric"},
}
OTHERS = {
    *{"host", "named", "unknown", "undefined", "deny", "data"},
    *{"text", "string", "number", "navigate", "dom-write", ""},
}

NAMESPACES = {"Math", "JSON", "Reflect", "Intl", "Atomics", "CSS", "GLOBAL"}


def is_known(result: str) -> bool:
    while result.startswith(("promise:", "array:", "collection:", "iterator:")):
        result = result.partition(":")[2]
    if result.startswith("@"):
        return result[1:] in CATALOGUE.entries or result[1:].rpartition(".")[0] in {"", *CATALOGUE.entries}
    if result.startswith("new:"):
        return result[4:] in CATALOGUE.entries
    return result in PLAIN | OTHERS


def unknown(entry: Entry) -> list[str]:
    """Return what the entry names that does not exist."""
    named = [*(member.result for member in entry.members.values()), entry.result, entry.element]
    found = [result for result in named if not is_known(result)]
    if entry.others not in OTHERS and not entry.others.startswith(("deny:", "@", "array:")):
        found.append(entry.others)
    if entry.prototype and entry.prototype not in CATALOGUE.entries:
        found.append(entry.prototype)
    return found


def test_every_result_in_the_catalogue_names_something_that_exists() -> None:
    found = {path: unknown(entry) for path, entry in CATALOGUE.entries.items()}
    assert {path: names for path, names in found.items() if names} == {}
    assert len(found) > 1_000


def test_every_interface_object_is_a_function() -> None:
    interfaces = {
        name: member.result[1:]
        for name, member in CATALOGUE.globals.items()
        if name[0].isupper() and member.result.startswith("@") and name not in NAMESPACES
    }

    assert [name for name, path in interfaces.items() if not CATALOGUE.get(path).callable] == []
