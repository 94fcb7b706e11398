"""The manifest that is in force for a server: the operator's, the ready one that fits its tools, or a closed draft.

A tool that differs from the manifest is denied until the operator lists it. Of a server that no manifest knows, every
field is denied that looks like code, a URL, markup, a launch value or a path; its other fields pass.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evalward.tools.describe import visible
from evalward.tools.draft import closed_draft, draft_manifest, draft_tools
from evalward.tools.manifest_match import match
from evalward.tools.ready import load_ready
from evalward.tools.variant import schema_digest

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from evalward.guard.target import Target
    from evalward.tools import Manifest


@dataclass(frozen=True, slots=True)
class KnownTools:
    """``manifest`` judges the calls (None: every call is denied); ``name`` says which one it is.

    ``differing`` are the tools that are denied, by name. ``notice`` is what the operator must read, the YAML that would
    list the tools; it is empty where everything fits.
    """

    manifest: Manifest | None
    name: str
    differing: frozenset[str] = frozenset()
    notice: str = field(default="", repr=False)

    def hidden(self, allowed: Collection[Target]) -> frozenset[str]:
        """Return the eval tools whose target is not in ``allowed``: a client is not shown them."""
        if self.manifest is None:
            return frozenset()
        shown = {tool.name for tool in visible(self.manifest, allowed)}
        return frozenset(tool.name for tool in self.manifest.tools) - shown


def known_tools(
    served: Sequence[dict[str, Any]], *, server: str | None, declared: Manifest | None, source: str
) -> KnownTools:
    """Return the manifest in force for the tools that ``served`` lists.

    ``declared`` is the operator's manifest, from ``source``; None: the ready one that fits, or a closed draft.
    """
    if declared is not None:
        return _compared(served, declared, source)
    found = match(served, server=server)
    if found.ready is not None and (found.same_name or found.fits):
        return _compared(served, load_ready(found.ready), f"ready:{found.ready}")
    name = server or "the server"
    notice = (
        f"No manifest knows {name!a} with these tools, so every field that looks like code, a URL, markup, a launch "
        "value or a path is denied. A manifest to review and to give as --manifest FILE:\n"
        f"{draft_manifest(served, server=server or '')}"
    )
    return KnownTools(closed_draft(served, server=server or ""), "a closed draft", notice=notice)


def _compared(served: Sequence[dict[str, Any]], manifest: Manifest, source: str) -> KnownTools:
    differing = [tool for tool in served if _differs(tool, manifest)]
    notice = ""
    if differing:
        names = ", ".join(str(tool["name"]) for tool in differing)
        notice = (
            f"These tools differ from {source} and are denied: {names}. To allow them, review these entries and put "
            f"them into a manifest of your own (evalward tools match --print begins one):\n{draft_tools(differing)}"
        )
    return KnownTools(manifest, source, frozenset(str(tool["name"]) for tool in differing), notice)


def _differs(served: dict[str, Any], manifest: Manifest) -> bool:
    name = str(served["name"])
    if manifest.is_page_tool(name):
        return False
    tool = manifest.tool(name)
    if tool is None:
        return True
    schema = served.get("inputSchema")
    return tool.input_schema is not None and schema_digest(tool.input_schema) != schema_digest(
        schema if isinstance(schema, dict) else {"type": "object"}
    )
