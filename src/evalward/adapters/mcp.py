"""Converts an envelope to the result of an MCP tool call; a failed call is a result, not a protocol error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from evalward.errors import JsonValue, canonical_json
from evalward.errors.canonical import to_json_object

if TYPE_CHECKING:
    from collections.abc import Mapping

_UNSHOWN: Final = frozenset({"code_hash", "repairable", "rewrite"})
_PLACE: Final = frozenset({"line", "column"})
_OF_A_PLACE: Final = frozenset({"line", "column", "start", "end", "note"})
_NAMED: Final = frozenset({"construct", "keyword"})
_LONGEST_TRACE: Final = 3
_MOST_FINDINGS: Final = 6


def to_call_tool_result(envelope: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Return ``{content, structuredContent, isError}`` (MCP CallToolResult) for ``envelope``.

    The structured content is the envelope itself. The text is what a model sees. Of a success it is the whole
    envelope as JSON; of a failure what happened, whether a rewrite repairs it, the next actions, and the details as
    JSON. What never differs for one code, and what only operators need, is not in that text. Raise NotJsonError when
    it is not JSON, and ValueError when its ``ok`` is neither true nor false.
    """
    plain = to_json_object(envelope)
    ok = plain.get("ok")
    if ok is not True and ok is not False:
        raise ValueError("ok must be true or false in an envelope")
    text = canonical_json(plain).decode() if ok else denial_text(plain)
    return {"content": [{"type": "text", "text": text}], "structuredContent": plain, "isError": not ok}


def denial_text(envelope: Mapping[str, Any]) -> str:
    """Return what a model sees of an error envelope (JSON data): one item per line, its details last."""
    details = envelope.get("details") or {}
    lines = [f"{envelope.get('code')}: {envelope.get('error')}"]
    if "repairable" in details:
        lines.append(f"Repairable: {details['repairable']}")
    actions = envelope.get("next_actions") or []
    if actions:
        lines += ["Next actions:", *(f"- {action}" for action in actions)]
    shown = _shown(envelope, details)
    return "\n".join(lines + (["", canonical_json(shown).decode()] if shown else []))


def _shown(envelope: Mapping[str, Any], details: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Return what the lines of the text leave out and a caller can use; an operator's id only if Evalward failed."""
    shown: dict[str, JsonValue] = {key: _placed(details[key]) for key in details if key not in _UNSHOWN}
    if shown.get("findings_omitted") == 0:
        del shown["findings_omitted"]
        shown.pop("findings_total", None)
    findings, trace = shown.get("findings"), shown.get("trace")
    if isinstance(findings, list):
        if len(findings) == 1:
            del shown["findings"]
        elif len(findings) > _MOST_FINDINGS:
            shown["findings"] = findings[:_MOST_FINDINGS]
            shown.setdefault("findings_total", len(findings))
    if isinstance(trace, list):
        # The last steps say what was done with the value; how it was reached stands in the caller's own text.
        shown["trace"] = trace[-_LONGEST_TRACE:]
    if envelope.get("code") == "EVAL_TARGET_DENIED":
        shown.pop("required", None)  # the operator's flag, which no caller can set
    if envelope.get("similar_refs"):
        shown["similar_refs"] = envelope["similar_refs"]
    if envelope.get("retryable"):
        shown["retryable"] = True
    if envelope.get("cause") == "system":
        shown["decision_id"] = (envelope.get("_meta") or {}).get("decision_id")
    return shown


def _placed(value: JsonValue) -> JsonValue:
    """Return ``value`` with each location as ``line:column``, and each finding and step of a trace as one text."""
    if isinstance(value, list):
        return [_placed(item) for item in value]
    if not isinstance(value, dict):
        return value
    if _PLACE <= value.keys() <= _OF_A_PLACE:
        place = f"{value['line']}:{value['column']}"
        return f"{place} {value['note']}" if "note" in value else place
    placed: dict[str, JsonValue] = {key: _placed(item) for key, item in value.items()}
    if len(placed) == len(_PLACE) and "location" in placed and not _NAMED.isdisjoint(placed):
        name = placed.get("construct", placed.get("keyword"))
        return f"{placed['location']} {name}" if placed["location"] else name
    return placed["note"] if placed.keys() == {"note"} else placed
