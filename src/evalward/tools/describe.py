"""The ``tools/list`` entries of a server: short descriptions with the codes that a call can fail with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from evalward.errors import Code
from evalward.guard.target import Target
from evalward.tools.kinds import FieldKind
from evalward.tools.shown import shown_schema

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from evalward.policy.field_values import FieldsPolicy
    from evalward.tools.manifest import Manifest
    from evalward.tools.tool import Tool

MAX_TOKENS: Final = 60
"""Tokens of a description, by the same estimate as an envelope's (ceil of characters / 4)."""
MAX_TOKENS_OF_RUNS: Final = 80
"""The same for a tool that runs code in the sandbox, which can fail with seven more codes."""
_WORDS = 40
_EVAL = (
    Code.EVAL_BLOCKED_KEYWORD,
    Code.EVAL_BLOCKED_CONSTRUCT,
    Code.EVAL_SYNTAX_ERROR,
    Code.EVAL_BAD_ENCODING,
    Code.EVAL_ANALYSIS_LIMIT,
)
_RUNS = (
    Code.EVAL_RUNTIME_ERROR,
    Code.EVAL_FUEL_EXHAUSTED,
    Code.EVAL_TIMEOUT,
    Code.EVAL_MEMORY_LIMIT,
    Code.EVAL_STACK_LIMIT,
    Code.EVAL_RESULT_TOO_LARGE,
    Code.EVAL_UNSETTLED,
)
_OF_KINDS = {
    FieldKind.URL: Code.TOOL_URL_DENIED,
    FieldKind.LAUNCH: Code.TOOL_VALUE_DENIED,
    FieldKind.PATH: Code.TOOL_VALUE_DENIED,
    FieldKind.TYPED: Code.TOOL_VALUE_DENIED,
}
_CODE_KINDS = frozenset({FieldKind.SOURCE, FieldKind.MARKUP, FieldKind.URL})
_VALUES = {
    "main": "the main process",
    "renderer": "the page",
    "node": "the driver",
    "sandbox": "the sandbox",
}


def codes_of(tool: Tool) -> tuple[Code, ...]:
    """Return the codes of domain failures that a call of ``tool`` can cause, the likeliest first.

    EVAL_TARGET_DENIED is included for tools that judge code and are listed for every target; an eval tool of a denied
    target is not listed.
    """
    kinds = {rule.kind for rule in tool.fields.values()}
    has_code = tool.is_eval or bool(kinds & _CODE_KINDS)
    codes = [*(_EVAL if has_code else ()), Code.EVAL_PAYLOAD_TOO_LARGE]
    codes += [code for kind, code in _OF_KINDS.items() if kind in kinds]
    if not tool.is_eval and has_code:
        codes.append(Code.EVAL_TARGET_DENIED)
    if tool.target is Target.SANDBOX:
        codes += _RUNS
    if tool.forbidden:
        codes.append(Code.TOOL_FIELD_FORBIDDEN)
    codes.append(Code.INVALID_INPUT)
    if not tool.is_eval or tool.when is not None:
        codes.append(Code.MISSING_FIELD)
    codes.append(Code.STRICT_CONSTANT_OVERRIDE)
    if has_code or kinds - {FieldKind.DATA}:
        codes.append(Code.BATCH_TOO_LARGE)
    return tuple(dict.fromkeys(codes))


def description(tool: Tool) -> str:
    """Return the description of ``tool`` in at most ``MAX_TOKENS`` tokens, its codes included.

    If they are too long, codes of one family share a prefix: ``EVAL_{SYNTAX_ERROR,BAD_ENCODING}``.
    """
    characters = 4 * (MAX_TOKENS_OF_RUNS if tool.target is Target.SANDBOX else MAX_TOKENS)
    codes = codes_of(tool)
    errors = f"Errors: {', '.join(codes)}."
    if len(errors) + _WORDS > characters:
        errors = f"Errors: {_grouped(codes)}."
    words = " ".join((tool.description or _default(tool)).split())
    if words[-1:] not in {".", "!", "?", "…"}:
        words += "."
    room = characters - len(errors) - 1
    if len(words) > room:
        words = words[: room - 1].rpartition(" ")[0].rstrip(",;:.(") + "…"
    return f"{words} {errors}"


def tools_list(
    manifest: Manifest, allowed: Collection[Target], fields: FieldsPolicy | None = None
) -> list[dict[str, Any]]:
    """Return the entries of ``tools/list``; the eval tools of a target that is not ``allowed`` are absent.

    So are fields that every call must leave out: forbidden ones, and those that the policy's ``fields`` always deny.
    """
    return [
        {
            "name": tool.name,
            "description": description(tool),
            "inputSchema": shown_schema(tool, allowed, fields),
        }
        for tool in visible(manifest, allowed)
    ]


def visible(manifest: Manifest, allowed: Collection[Target]) -> Sequence[Tool]:
    """Return the tools that may be shown under a policy that allows eval in ``allowed``."""
    return [tool for tool in manifest.tools if not tool.is_eval or tool.target in allowed]


def _grouped(codes: Iterable[Code]) -> str:
    families: dict[str, list[str]] = {}
    for code in codes:
        family, _, rest = code.partition("_")
        families.setdefault(family, []).append(rest)
    return ", ".join(
        f"{family}_{rests[0]}" if len(rests) == 1 else f"{family}_{{{','.join(rests)}}}"
        for family, rests in families.items()
    )


def _default(tool: Tool) -> str:
    if tool.target is not None:
        return f"Run JavaScript in {_VALUES[tool.target]}."
    return f"{tool.name}: {tool.operation_type.replace('_', ' ')}."
