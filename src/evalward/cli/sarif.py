"""A verdict as SARIF 2.1.0 (OASIS), the exchange format for findings of static analysis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from evalward.errors import REGISTRY, Code
from evalward.guard.constructs import construct_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evalward.guard.verdict import Finding, Location, Verdict

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif(verdict: Verdict, envelope: dict[str, Any], *, artifact: str, version: str) -> dict[str, Any]:
    """Return a log of one run. An audited finding is a warning, a blocking one an error; an allow has no result.

    Each result has its own message, each rule the description of its construct or code. ``artifact`` is the payload's
    file, ``-`` for standard input; the log contains no text of the payload.
    """
    results = [] if verdict.allowed else [*_blocking(verdict, str(envelope["error"]), artifact)]
    results += [
        _result(each.construct, _audited(each), "warning", _places(each, artifact)) for each in verdict.shadow
    ]
    rules = [_rule(rule) for rule in dict.fromkeys(str(result["ruleId"]) for result in results)]
    places = {rule["id"]: place for place, rule in enumerate(rules)}
    for result in results:
        result["ruleIndex"] = places[str(result["ruleId"])]
    run = {
        "tool": {"driver": {"name": "evalward", "version": version, "rules": rules}},
        "artifacts": [{"location": {"uri": artifact}, "hashes": {"sha-256": verdict.code_hash}}],
        "columnKind": "unicodeCodePoints",
        **({"properties": {"sink": verdict.sink}} if verdict.sink else {}),
        "results": results,
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


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


def _blocking(verdict: Verdict, message: str, artifact: str) -> Iterator[dict[str, Any]]:
    for each in verdict.findings:
        yield _result(_rule_of(each, verdict), _blocked(each), "error", _places(each, artifact))
    if not verdict.findings:
        place = {"locations": [_place(verdict.location, artifact)]} if verdict.location else {}
        yield _result(verdict.construct or str(verdict.code), message, "error", place)


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


def _result(rule: str, message: str, level: str, places: dict[str, Any]) -> dict[str, Any]:
    return {"ruleId": rule, "level": level, "message": {"text": message}, **places}


def _places(finding: Finding, artifact: str) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if finding.location:
        made["locations"] = [_place(finding.location, artifact)]
    steps = [
        {"location": {**_place(step.location, artifact), "message": {"text": step.note}}}
        for step in finding.trace
        if step.location
    ]
    if steps:
        made["codeFlows"] = [{"threadFlows": [{"locations": steps}]}]
    return made


def _place(location: Location, artifact: str) -> dict[str, Any]:
    region = {
        "startLine": location.line,
        "startColumn": location.column,
        "byteOffset": location.start,
        "byteLength": location.end - location.start,
    }
    return {"physicalLocation": {"artifactLocation": {"uri": artifact}, "region": region}}
