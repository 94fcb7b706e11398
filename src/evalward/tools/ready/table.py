"""The fields of the ready manifests that are judged or refused, as the page docs/reference/tools.md lists them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.tools.kinds import FieldKind
from evalward.tools.likely import likely_kind
from evalward.tools.ready import ready_manifests
from evalward.tools.schema import walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evalward.tools.manifest import Manifest, Tool

REFUSED = "refused"
"""What the table calls a field that no call may have."""


def kinds_of(tool: Tool) -> dict[str, str]:
    """Return the fields of ``tool`` with a kind, by name or JSON Pointer; ``refused`` for forbidden ones."""
    found: dict[str, str] = dict.fromkeys(tool.sources if tool.is_eval else (), str(FieldKind.SOURCE))
    for name, rule in tool.fields.items():
        quotes = {True: ", within quotes", "escaped": ", within escaped quotes"}
        found[name] = f"{rule.kind}{quotes.get(rule.within_quotes, '')}"
    declared = {steps[-1] for steps, _ in walk(tool.place)}
    return found | {name: REFUSED for name in tool.forbidden if name in declared}


def without_kind(manifest: Manifest) -> list[str]:
    """Return each field, as ``tool.field``, whose name suggests a kind and that has none."""
    found = []
    for tool in manifest.tools:
        kinds = kinds_of(tool)
        for steps, place in walk(tool.place):
            named = steps[-1] in kinds or "/" + "/".join(steps) in kinds
            inside = any(step in kinds for step in steps[:-1])
            if likely_kind(tool.name, steps[-1], place) is not None and not named and not inside:
                found.append(f"{tool.name}.{steps[-1]}")
    return found


def fields_table() -> str:
    """Return the tables in Markdown: the variants with their digests, then the fields of each manifest."""
    return "\n".join([*_variants(), "", *_fields()]) + "\n"


def _variants() -> Iterator[str]:
    yield "| ready manifest | server calls itself | flags | tools | digest |"
    yield "|---|---|---|---|---|"
    for family, manifest in ready_manifests().items():
        for variant in manifest.variants:
            count = len(manifest.tools) if variant.tools is None else len(variant.tools)
            flags = f"`{variant.flags}`" if variant.flags else "none"
            name = f"`{family}/{variant.name}`"
            server = " ".join(filter(None, (manifest.server, variant.version)))
            yield f"| {name} | {server} | {flags} | {count} | `{variant.digest[:16]}` |"


def _fields() -> Iterator[str]:
    yield "| server | field | kind | tools |"
    yield "|---|---|---|---|"
    for family, manifest in ready_manifests().items():
        tools: dict[tuple[str, str], list[str]] = {}
        for tool in manifest.tools:
            for field, kind in kinds_of(tool).items():
                tools.setdefault((field, kind), []).append(tool.name)
        for (field, kind), names in sorted(tools.items(), key=lambda each: (each[0][1], each[0][0])):
            yield f"| {family} | `{field}` | {kind} | {', '.join(names)} |"
