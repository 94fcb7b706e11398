"""What a server shows of its tools: ``tools/list`` entries whose short descriptions carry the codes to expect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from evalward.errors import Code

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from evalward.guard.target import Target
    from evalward.tools.manifest import Manifest, Tool

MAX_TOKENS: Final = 60
"""Tokens of a description, by the same estimate as an envelope's (ceil of characters / 4)."""
_CHARACTERS = MAX_TOKENS * 4
_EVAL = (
    Code.EVAL_BLOCKED_KEYWORD,
    Code.EVAL_BLOCKED_CONSTRUCT,
    Code.EVAL_SYNTAX_ERROR,
    Code.EVAL_ANALYSIS_LIMIT,
    Code.EVAL_PAYLOAD_TOO_LARGE,
)
_VALUES = {
    "main": "the main process",
    "renderer": "the page",
    "node": "the driver",
    "sandbox": "the sandbox",
}


def codes_of(tool: Tool) -> tuple[Code, ...]:
    """Return the codes of domain failures that a call of ``tool`` can meet, the likeliest first."""
    codes = [*(_EVAL if tool.is_eval else ()), Code.INVALID_INPUT]
    if not tool.is_eval or tool.when is not None:
        codes.append(Code.MISSING_FIELD)
    if tool.forbidden:
        codes.append(Code.TOOL_FIELD_FORBIDDEN)
    return tuple(codes)


def description(tool: Tool) -> str:
    """Return the description of ``tool`` in at most ``MAX_TOKENS`` tokens, its codes included."""
    errors = f"Errors: {', '.join(codes_of(tool))}."
    words = " ".join((tool.description or _default(tool)).split())
    if words[-1:] not in {".", "!", "?", "…"}:
        words += "."
    room = _CHARACTERS - len(errors) - 1
    if len(words) > room:
        words = words[: room - 1].rpartition(" ")[0].rstrip(",;:.(") + "…"
    return f"{words} {errors}"


def tools_list(manifest: Manifest, allowed: Collection[Target]) -> list[dict[str, Any]]:
    """Return the entries of ``tools/list``; the eval tools of a target that is not ``allowed`` are absent."""
    return [
        {
            "name": tool.name,
            "description": description(tool),
            "inputSchema": dict(tool.input_schema or {"type": "object"}),
        }
        for tool in visible(manifest, allowed)
    ]


def visible(manifest: Manifest, allowed: Collection[Target]) -> Sequence[Tool]:
    """Return the tools that may be shown under a policy that allows eval in ``allowed``."""
    return [tool for tool in manifest.tools if not tool.is_eval or tool.target in allowed]


def _default(tool: Tool) -> str:
    if tool.target is not None:
        return f"Run JavaScript in {_VALUES[tool.target]}."
    return f"{tool.name}: {tool.operation_type.replace('_', ' ')}."
