"""Every entry of the catalogue names only entries that exist."""

from __future__ import annotations

import pytest

from evalward.guard.catalogue import load_catalogue


@pytest.mark.parametrize("path", sorted(load_catalogue().entries))
def test_every_result_in_the_catalogue_names_something_that_exists(path: str) -> None:
    catalogue = load_catalogue()
    entry = catalogue.entries[path]
    plain = {
        "string",
        "text",
        "number",
        "boolean",
        "bigint",
        "undefined",
        "plain",
        "data",
        "unknown",
        "symbol",
    }
    others = {
        "host",
        "named",
        "unknown",
        "undefined",
        "deny",
        "data",
        "text",
        "string",
        "number",
        "navigate",
        "dom-write",
        "",
    }

    def known(result: str) -> bool:
        while result.startswith(("promise:", "array:", "collection:")):
            result = result.partition(":")[2]
        if result.startswith("@"):
            return result[1:] in catalogue.entries or result[1:].rpartition(".")[0] in {
                "",
                *catalogue.entries,
            }
        if result.startswith("new:"):
            return result[4:] in catalogue.entries
        return result in plain | others

    assert [name for name, member in entry.members.items() if not known(member.result)] == []
    assert known(entry.result)
    assert known(entry.element)
    assert entry.others in others or entry.others.startswith(("deny:", "@"))
    assert not entry.prototype or entry.prototype in catalogue.entries
