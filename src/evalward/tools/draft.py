"""Draft a manifest from a server's own ``tools/list``, for its operator to review.

Names and descriptions only suggest what a tool does. A tool that could evaluate is drafted as an eval tool, so that a
wrong guess causes a denial and no escape; every guess is marked.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Any

import yaml
from pydantic import ValidationError

from evalward.field_names import folded
from evalward.guard.target import Target
from evalward.tools.kinds import FieldKind
from evalward.tools.likely import likely_kind
from evalward.tools.manifest import MAX_TOOLS, Manifest, PageTools
from evalward.tools.page_tools import PAGE_PREFIX, is_of_a_page
from evalward.tools.schema_patterns import PatternError, compiled
from evalward.tools.schema_places import root_place, walk
from evalward.tools.tool import FORBIDDEN_FIELDS, SOURCE_FIELDS, OperationType, Tool

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

EVAL_NAME = re.compile(
    r"eval|javascript|(run|exec\w*|inject)_?(js|script|code|function)|(^|_)js($|_)", re.IGNORECASE
)
_EVAL_TEXT = re.compile(r"javascript|\bjs\b|code snippet", re.IGNORECASE)
_FIELD_NAME = re.compile(r"[^~/\x00-\x1f*]{1,128}")
_KINDS = (
    (re.compile(r"screenshot|screencast|pdf|video", re.IGNORECASE), OperationType.SCREENSHOT),
    (re.compile(r"console|_logs?\b|diagnostic", re.IGNORECASE), OperationType.LOGS),
    (re.compile(r"dialog|alert", re.IGNORECASE), OperationType.DIALOG),
    (
        re.compile(r"(list|get)_?(pages|tabs|windows)|(pages|tabs|windows|surfaces)_list", re.IGNORECASE),
        OperationType.WINDOW_INFO,
    ),
    (
        re.compile(
            r"(^|_)(get|list|find|read|exists|is|status|info|snapshot|wait|expect|assert|verify)",
            re.IGNORECASE,
        ),
        OperationType.QUERY,
    ),
)
_NOTE = """# Drafted by `evalward tools init` from a tools/list. Read every entry before you serve with it:
# operation types are guessed, and a tool whose name does not suggest that it evaluates is not marked.
"""


def looks_like_eval(name: str, description: str, input_schema: Mapping[str, Any]) -> bool:
    """Return whether a tool could evaluate JavaScript, by its name or by a source field that it describes as code."""
    return bool(EVAL_NAME.search(name)) or any(
        _EVAL_TEXT.search(f"{description} {_text(place.nodes)}") for _, place in _sources(input_schema)
    )


def scripts_in(input_schema: Mapping[str, Any]) -> list[str]:
    """Return the properties that seem to hold scripts although they are not among the default source fields."""
    known = {folded(name) for name in SOURCE_FIELDS}
    return [
        steps[-1]
        for steps, place in walk(root_place(input_schema))
        if place.takes_text()
        and folded(steps[-1]) not in known
        and likely_kind("", steps[-1], place) is FieldKind.SOURCE
    ]


def kinds_in(tool: str, input_schema: Mapping[str, Any]) -> dict[str, str]:
    """Return the fields that seem to carry URLs, markup, launch values or paths, by name, with their kinds."""
    found: dict[str, str] = {}
    for steps, place in walk(root_place(input_schema)):
        kind = likely_kind(tool, steps[-1], place)
        if kind not in {None, FieldKind.SOURCE} and _FIELD_NAME.fullmatch(steps[-1]):
            found.setdefault(steps[-1], str(kind))
    return found


def draft_manifest(tools: Sequence[Mapping[str, Any]], *, server: str) -> str:
    """Return a manifest as YAML for the ``tools`` of a ``tools/list`` result of the MCP."""
    head = yaml.safe_dump({"api_version": "evalward/v1", "server": server}, sort_keys=False)
    page_tools = (
        "# Pages choose the names of the tools that they register; denied unless action is command.\n"
    )
    page_tools += f"page_tools: {{prefixes: [{PAGE_PREFIX}], action: deny}}\n"
    kept = [tool for tool in tools if not is_of_a_page(tool)]
    return f"{_NOTE}{head}{page_tools}tools:\n{draft_tools(kept)}"


def closed_draft(tools: Sequence[Mapping[str, Any]], *, server: str) -> Manifest | None:
    """Return a manifest of ``tools`` that no one has reviewed: all fields are forbidden that may hold more than data.

    Those are fields that look like code, URLs, markup, launch values or paths. No tool is an eval tool. A tool that no
    manifest can describe is left out; None: no tool is left.
    """
    found = [_closed(tool) for tool in tools if not is_of_a_page(tool)]
    kept = {tool.name: tool for tool in found if tool is not None}
    if not kept:
        return None
    return Manifest(
        api_version="evalward/v1",
        server=server[:256],
        page_tools=PageTools(prefixes=(PAGE_PREFIX,)),
        tools=tuple(islice(kept.values(), MAX_TOOLS)),
    )


def _closed(tool: Mapping[str, Any]) -> Tool | None:
    name, schema = str(tool["name"]), tool.get("inputSchema") or {"type": "object"}
    schema = _with_patterns_of_ours(schema, [])
    # A server may read what it does not declare, and may declare nothing.
    schema = {**schema, "properties": schema.get("properties", {}), "additionalProperties": False}
    closed = tuple(dict.fromkeys([*SOURCE_FIELDS, *scripts_in(schema), *kinds_in(name, schema)]))
    try:
        return Tool(
            name=name, operation_type=OperationType.COMMAND, forbidden_fields=closed, input_schema=schema
        )
    except ValidationError:
        return None


def draft_tools(tools: Sequence[Mapping[str, Any]]) -> str:
    """Return the entries of ``tools`` as YAML below ``tools:`` in a manifest."""
    return "".join(_block(tool) for tool in tools)


def manifest_yaml(manifest: Manifest) -> str:
    """Return ``manifest`` as YAML, as it was declared."""
    return yaml.dump(
        manifest.model_dump(mode="json", exclude_unset=True),
        Dumper=_PlainDumper,
        sort_keys=False,
        allow_unicode=True,
        width=110,
    )


def _block(tool: Mapping[str, Any]) -> str:
    entry, notes = _entry(tool)
    text = yaml.dump([entry], Dumper=_PlainDumper, sort_keys=False, allow_unicode=True, width=110)
    comments = "".join(f"# {note}\n" for note in notes)
    return "".join(f"  {line}\n" for line in f"{comments}{text}".splitlines())


def _entry(tool: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    name, schema = str(tool["name"]), tool.get("inputSchema") or {"type": "object"}
    words = str(tool.get("description") or "")
    entry: dict[str, Any] = {"name": name}
    notes: list[str] = []
    schema = _with_patterns_of_ours(schema, notes)
    kinds = kinds_in(name, schema)
    if looks_like_eval(name, words, schema):
        notes.append(
            "review: evaluates? target is a guess; name a sink instead (`evalward sinks`), or add shape, bindings"
        )
        found = list(dict.fromkeys(steps[-1] for steps, _ in _sources(schema))) or scripts_in(schema)
        entry |= {"operation_type": "eval", "target": _target(name, words).value, "source_fields": found}
        paths = [each for each in FORBIDDEN_FIELDS if each in root_place(schema).names]
        if paths:
            notes.append(
                f"review: calls with {', '.join(paths)} are refused; change forbidden_fields if it names the output"
            )
    else:
        entry["operation_type"] = _kind(tool).value
        hidden = scripts_in(schema)
        if hidden:
            notes.append(
                f"review: {', '.join(hidden)} may be evaluated; forbidden until the tool is declared as eval"
            )
            entry["forbidden_fields"] = hidden
    taken = {*entry.get("source_fields", ()), *entry.get("forbidden_fields", ())}
    if "forbidden_fields" not in entry and entry["operation_type"] == "eval":
        taken |= {*FORBIDDEN_FIELDS}
    kinds = {field: kind for field, kind in kinds.items() if field not in taken}
    if kinds:
        notes.append("review: the kinds of fields are guessed by their names; data is not judged")
        entry["fields"] = kinds
    if words:
        entry["description"] = words[:400]
    entry["input_schema"] = schema
    return entry, notes


def _with_patterns_of_ours(schema: Any, notes: list[str]) -> Any:
    """Return ``schema`` without patterns that a manifest may not have."""
    if isinstance(schema, list):
        return [_with_patterns_of_ours(item, notes) for item in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: _with_patterns_of_ours(value, notes) for key, value in schema.items()}
    keyed = found.get("patternProperties")
    refused = [text for text in (keyed if isinstance(keyed, dict) else ()) if not _is_ours(text)]
    for text in refused:
        del found["patternProperties"][text]
    if isinstance(found.get("pattern"), str) and not _is_ours(found["pattern"]):
        refused.append(found.pop("pattern"))
    if refused:
        notes.append("review: a pattern is left out, since RE2 does not support it")
    return found


def _is_ours(pattern: str) -> bool:
    try:
        compiled(pattern)
    except PatternError:
        return False
    return True


def _sources(schema: Mapping[str, Any]) -> list[tuple[tuple[str, ...], Any]]:
    return [
        (steps, place)
        for steps, place in walk(root_place(schema))
        if steps[-1] in SOURCE_FIELDS and place.takes_text()
    ]


def _text(nodes: Sequence[Mapping[str, Any]]) -> str:
    return " ".join(str(node.get("description", "")) for node in nodes)


def _target(name: str, words: str) -> Target:
    if re.search(r"(^|_)main($|_)|main process", f"{name} {words}", re.IGNORECASE):
        return Target.MAIN
    if re.search(r"server process|playwright code|puppeteer code|driver", words, re.IGNORECASE):
        return Target.NODE
    return Target.RENDERER


def _kind(tool: Mapping[str, Any]) -> OperationType:
    hints = tool.get("annotations")
    for pattern, kind in _KINDS:
        if pattern.search(str(tool["name"])):
            return kind
    read_only = isinstance(hints, dict) and hints.get("readOnlyHint") is True
    return OperationType.QUERY if read_only else OperationType.COMMAND


class _PlainDumper(yaml.SafeDumper):
    """Writes no aliases, since the loader rejects them."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - PyYAML's signature
        """Return True: write values in full."""
        return True
