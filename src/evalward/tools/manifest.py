"""All tools of one MCP server, as the operator declares them (contract.md §4): a frozen Pydantic model."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, StrictStr, model_validator

from evalward.errors import canonical_json
from evalward.policy.fields import ToolName, problem
from evalward.tools.schema_check import PROVEN
from evalward.tools.tool import Declaration, OperationType, Tool
from evalward.tools.variant import EVERY_TOOL, Variant

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_TOOLS = 512


class PageTools(Declaration):
    """Tools that a page registers while the server runs, by the beginning of their names.

    Their names and texts come from the page, so they are denied unless ``action`` declares them commands; then all of
    their arguments are data for the page's own code.
    """

    prefixes: Annotated[tuple[ToolName, ...], Field(min_length=1, max_length=16)]
    action: Literal["deny", "command"] = "deny"


class Manifest(Declaration):
    """Every tool of one MCP server. ``digest`` identifies the declarations, independent of their notation.

    ``server`` is the name that the server reports, ``variants`` are the lists of tools that it has under different
    flags.
    """

    api_version: Literal["evalward/v1"]
    server: Annotated[StrictStr, Field(max_length=256)] = ""
    variants: tuple[Variant, ...] = ()
    page_tools: PageTools | None = None
    tools: tuple[Tool, ...]

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not 1 <= len(self.tools) <= MAX_TOOLS:
            raise problem("tools", f"{len(self.tools)} tools", f"1 to {MAX_TOOLS} tools")
        seen: set[str] = set()
        for tool in self.tools:
            if tool.name in seen:
                raise problem("repeated", f"tool {tool.name}: name: given twice", "each tool once")
            seen.add(tool.name)
        for variant in self.variants:
            unknown = {*(variant.tools or ()), *variant.without, *variant.required} - seen - {EVERY_TOOL}
            if unknown:
                raise problem("variant", f"variant {variant.name}: no tool {min(unknown)}", "a tool's name")
        return self

    def __iter__(self) -> Iterator[Tool]:  # type: ignore[override]  # a manifest is its tools
        return iter(self.tools)

    def tool(self, name: str) -> Tool | None:
        """Return the tool called exactly ``name``, or one that a page registered where those are commands."""
        tool = self._by_name.get(name)
        if (
            tool is None
            and self.is_page_tool(name)
            and self.page_tools
            and self.page_tools.action == "command"
        ):
            return Tool(name=name, operation_type=OperationType.COMMAND)
        return tool

    def is_page_tool(self, name: str) -> bool:
        """Return whether ``name`` is one that pages register."""
        return self.page_tools is not None and name.startswith(self.page_tools.prefixes)

    def variant(self, name: str) -> Manifest:
        """Return the manifest of the server's tools in the variant called ``name``; raise KeyError."""
        chosen = {each.name: each for each in self.variants}[name]
        tools = [
            tool.model_copy(update={"input_schema": chosen.schema_of(tool.name, tool.input_schema or {})})
            for tool in self.tools
            if chosen.tools is None or tool.name in chosen.tools
        ]
        # Validated again, so that no cached property of the other schemas is kept; a variant only has fewer fields.
        declared = [tool.model_dump(mode="json", exclude_unset=True) for tool in tools]
        return Manifest.model_validate(
            {**self.model_dump(mode="json", exclude={"tools", "variants"}), "tools": declared}, context=PROVEN
        )

    @cached_property
    def _by_name(self) -> Mapping[str, Tool]:
        return {tool.name: tool for tool in self.tools}

    @cached_property
    def digest(self) -> str:
        """Lower-case hex SHA-256 of the canonical JSON of the tools with every default filled in."""
        declared = [
            {
                **_dumped(tool),
                "source_fields": tool.sources,
                "forbidden_fields": tool.forbidden,
            }
            for tool in self.tools
        ]
        whole: dict[str, Any] = {"api_version": self.api_version, "tools": declared}
        if self.page_tools is not None:
            whole["page_tools"] = self.page_tools.model_dump(mode="json")
        return hashlib.sha256(canonical_json(whole)).hexdigest()


def _dumped(tool: Tool) -> dict[str, Any]:
    """Return the declarations of ``tool``; newer ones that are not used are left out, so that old digests stay."""
    dumped = tool.model_dump(mode="json", exclude=None if tool.fields else {"fields"})
    for part in (dumped, *dumped.get("fields", {}).values()):
        for name in ("hardening", "language"):
            if part[name] is None:
                del part[name]
    return dumped
