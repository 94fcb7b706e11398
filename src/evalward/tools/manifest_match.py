"""Match a server with the ready manifests, by its name and its tools, and list the differences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evalward.tools.page_tools import is_of_a_page
from evalward.tools.ready import families, families_with, ready_manifest
from evalward.tools.variant import list_digest, schema_digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from evalward.tools.manifest import Manifest
    from evalward.tools.variant import Variant


@dataclass(frozen=True, slots=True)
class Match:
    """The closest ready manifest, and the differences in the server's list; tools by name.

    ``ready`` is its name as ``load_ready`` takes it, None where nothing is close. ``renamed`` maps the manifest's
    name of a tool to the server's. ``digest`` is that of the server's own list.
    """

    digest: str
    ready: str | None
    same_name: bool = False
    new: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()

    @property
    def fits(self) -> bool:
        """Whether the server's list matches the manifest in its tools and their fields."""
        return bool(self.ready) and not (self.new or self.missing or self.changed or self.renamed)

    @property
    def exact(self) -> bool:
        """Whether the server's list matches the manifest in its name, too."""
        return self.fits and self.same_name

    def as_json(self) -> dict[str, Any]:
        """Return the match as plain JSON data."""
        return {
            "ready": self.ready,
            "exact": self.exact,
            "same_name": self.same_name,
            "new": [*self.new],
            "missing": [*self.missing],
            "changed": [*self.changed],
            "renamed": dict(self.renamed),
            "digest": self.digest,
        }


def match(tools: Sequence[Mapping[str, Any]], *, server: str | None) -> Match:
    """Return the ready manifest that fits ``tools``, the entries of a ``tools/list``, best.

    ``server`` is the name in the server's answer to ``initialize``, None when it is not known. Tools that a page
    registered are left out: they change at run time.
    """
    exact = [each for each in _candidates(families_with(_digest(tools)), tools, server) if each.exact]
    if exact:
        return exact[0]
    found = _candidates(families(), tools, server)
    listed = {str(tool["name"]) for tool in tools}
    best = min(found, key=lambda each: (not each.exact, not each.same_name, _distance(each)))
    # Single common names prove nothing: more than half of the tools must be known.
    if len(best.new) * 2 > len(listed):
        return Match(best.digest, None, new=tuple(sorted(listed)))
    return best


def _candidates(names: Iterable[str], tools: Sequence[Mapping[str, Any]], server: str | None) -> list[Match]:
    return [
        _compared(family, ready_manifest(family), variant, tools, server)
        for family in names
        for variant in ready_manifest(family).variants
    ]


def _digest(tools: Sequence[Mapping[str, Any]]) -> str:
    """Return the digest of ``tools`` without those that a page registered."""
    return list_digest((str(tool["name"]), _schema(tool)) for tool in tools if not is_of_a_page(tool))


def _compared(
    family: str,
    manifest: Manifest,
    variant: Variant,
    tools: Sequence[Mapping[str, Any]],
    server: str | None,
) -> Match:
    served = {
        str(tool["name"]): _schema(tool) for tool in tools if not manifest.is_page_tool(str(tool["name"]))
    }
    declared = {
        tool.name: variant.schema_of(tool.name, tool.input_schema or {})
        for tool in manifest.tools
        if variant.tools is None or tool.name in variant.tools
    }
    digests = {name: schema_digest(schema) for name, schema in served.items()}
    own = {name: schema_digest(schema) for name, schema in declared.items()}
    missing = [name for name in own if name not in served]
    new = [name for name in digests if name not in own]
    renamed = _renamed(missing, new, own, digests)
    return Match(
        list_digest(served.items()),
        f"{family}/{variant.name}",
        server is None or server == manifest.server,
        new=tuple(name for name in new if name not in renamed.values()),
        missing=tuple(name for name in missing if name not in renamed),
        changed=tuple(name for name in own if name in digests and own[name] != digests[name]),
        renamed=tuple(renamed.items()),
    )


def _renamed(
    missing: Sequence[str], new: Sequence[str], own: Mapping[str, str], digests: Mapping[str, str]
) -> dict[str, str]:
    """Pair tools with equal schemas that are unique on both sides; equal schemas of several tools cannot be paired."""
    pairs = {}
    for name in missing:
        alike = [each for each in new if digests[each] == own[name]]
        if len(alike) == 1 and [*own.values()].count(own[name]) == 1:
            pairs[name] = alike[0]
    return pairs


def _distance(found: Match) -> int:
    return len(found.new) + len(found.missing) + len(found.changed) + len(found.renamed)


def _schema(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    schema = tool.get("inputSchema")
    return schema if isinstance(schema, dict) else {"type": "object"}
