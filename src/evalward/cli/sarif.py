"""Verdicts as SARIF 2.1.0 (OASIS), the exchange format for findings of static analysis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from evalward.errors import REGISTRY, Code
from evalward.guard.constructs import construct_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from evalward.cli.checked import Checked
    from evalward.cli.payload_files import Payload
    from evalward.guard.verdict import Finding, Location, Verdict

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif(found: Iterable[Checked], *, version: str) -> dict[str, Any]:
    """Return a log of one run. An audited finding is a warning, a blocking one an error; an allow has no result.

    Each result has its own message, each rule the description of its construct or code. The log contains no text of
    a payload. A finding in a text of a JSON document is at that text's place in the document.
    """
    results: list[dict[str, Any]] = []
    artifacts: dict[str, dict[str, Any]] = {}
    sink: str | None = None
    for each in found:
        verdict, artifact = each.verdict, _Artifact(each.payload)
        listed = artifacts.setdefault(artifact.uri, {"location": {"uri": artifact.uri}})
        if each.payload.field is None:
            listed["hashes"] = {"sha-256": verdict.code_hash}
        own = [] if verdict.allowed else [*_blocking(verdict, str(each.envelope["error"]), artifact)]
        own += [
            _result(shadow.construct, _audited(shadow), "warning", artifact, _places(shadow, artifact))
            for shadow in verdict.shadow
        ]
        results += own
        sink = verdict.sink or sink
    rules = [_rule(rule) for rule in dict.fromkeys(str(result["ruleId"]) for result in results)]
    places = {rule["id"]: place for place, rule in enumerate(rules)}
    for result in results:
        result["ruleIndex"] = places[str(result["ruleId"])]
    run = {
        "tool": {"driver": {"name": "evalward", "version": version, "rules": rules}},
        "artifacts": [*artifacts.values()],
        "columnKind": "unicodeCodePoints",
        **({"properties": {"sink": sink}} if sink else {}),
        "results": results,
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


class _Artifact:
    """The file of a payload, and where the payload is in it."""

    def __init__(self, payload: Payload) -> None:
        self.uri = payload.file if payload.file == "-" else quote(payload.file, safe="/")
        self.field = payload.field
        self._begin = {"startLine": payload.line, "startColumn": payload.column}

    def place(self, location: Location) -> dict[str, Any]:
        """Return a physical location: that of the text of a document, as its escapes move what is inside it."""
        region = self._begin
        if self.field is None:
            region = {
                "startLine": location.line,
                "startColumn": location.column,
                "byteOffset": location.start,
                "byteLength": location.end - location.start,
            }
        return {"physicalLocation": {"artifactLocation": {"uri": self.uri}, "region": region}}


def _rule(name: str) -> dict[str, Any]:
    """Return the rule for a construct, or for a code."""
    construct = construct_of(name)
    if construct is None:
        row = REGISTRY[Code(name)]
        return _described(name, row.hint, row.recovery_hints or (row.hint,), row.next_actions)
    page = [_plain(each) for each in (construct.page or "").split("\n\n")[1:] if each.strip()]
    return _described(name, construct.title, page or (construct.title,), construct.use_instead)


def _described(name: str, short: str, full: Sequence[str], instead: Sequence[str]) -> dict[str, Any]:
    return {
        "id": name,
        "shortDescription": {"text": _plain(short)},
        "fullDescription": {"text": full[0]},
        "help": {"text": "\n".join([*full, *(f"- {each}" for each in instead)])},
    }


def _plain(text: str) -> str:
    """Return a text of the catalogue without its Markdown."""
    return " ".join(text.replace("`", "").replace("**", "").split())


def _blocking(verdict: Verdict, message: str, artifact: _Artifact) -> Iterator[dict[str, Any]]:
    for each in verdict.findings:
        yield _result(_rule_of(each, verdict), _blocked(each), "error", artifact, _places(each, artifact))
    if not verdict.findings:
        place = {"locations": [artifact.place(verdict.location)]} if verdict.location else {}
        yield _result(verdict.construct or str(verdict.code), message, "error", artifact, place)


def _rule_of(finding: Finding, verdict: Verdict) -> str:
    return finding.construct or str(Code.EVAL_BLOCKED_KEYWORD if finding.keyword else verdict.code)


def _blocked(finding: Finding) -> str:
    if finding.keyword:
        return f"The payload contains the blocklisted keyword {finding.keyword}{_at(finding)}."
    return f"The payload reaches {finding.construct}{_at(finding)}, which the policy blocks{_way(finding)}."


def _audited(finding: Finding) -> str:
    return (
        f"The payload reaches {finding.construct}{_at(finding)}, which the policy only audits{_way(finding)}."
    )


def _at(finding: Finding) -> str:
    place = finding.location
    return f" at line {place.line}, column {place.column}" if place else ""


def _way(finding: Finding) -> str:
    """Return the last step of the value's trace; it contains no text of the payload."""
    return f": {_plain(finding.trace[-1].note)}" if finding.trace else ""


def _result(
    rule: str, message: str, level: str, artifact: _Artifact, places: dict[str, Any]
) -> dict[str, Any]:
    text = message if artifact.field is None else f"{artifact.field}: {message}"
    # Without a place, a viewer that lists results by file would not show it.
    whole = {"locations": [{"physicalLocation": {"artifactLocation": {"uri": artifact.uri}}}]}
    return {"ruleId": rule, "level": level, "message": {"text": text}, **whole, **places}


def _places(finding: Finding, artifact: _Artifact) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if finding.location:
        made["locations"] = [artifact.place(finding.location)]
    steps = [
        {"location": {**artifact.place(step.location), "message": {"text": step.note}}}
        for step in finding.trace
        if step.location
    ]
    if steps:
        made["codeFlows"] = [{"threadFlows": [{"locations": steps}]}]
    return made
