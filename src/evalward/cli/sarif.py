"""A verdict as SARIF 2.1.0 (OASIS), for what reads the findings of static analysis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evalward.guard.verdict import Finding, Location, Verdict

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif(verdict: Verdict, envelope: dict[str, Any], *, artifact: str, version: str) -> dict[str, Any]:
    """Return a log of one run. What is only audited is a warning, what blocks an error; an allow has no result.

    ``artifact`` is the payload's file, ``-`` for standard input; the log holds nothing of the payload itself.
    """
    results = [] if verdict.allowed else [*_blocking(verdict, str(envelope["error"]), artifact)]
    results += [
        _result(each.construct, f"{each.construct} is only audited.", "warning", _places(each, artifact))
        for each in verdict.shadow
    ]
    rules = dict.fromkeys(result["ruleId"] for result in results)
    driver = {"name": "evalward", "version": version, "rules": [{"id": rule} for rule in rules]}
    run = {
        "tool": {"driver": driver},
        "artifacts": [{"location": {"uri": artifact}, "hashes": {"sha-256": verdict.code_hash}}],
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _blocking(verdict: Verdict, message: str, artifact: str) -> Iterator[dict[str, Any]]:
    for each in verdict.findings:
        yield _result(each.construct, message, "error", _places(each, artifact))
    if not verdict.findings:
        place = {"locations": [_place(verdict.location, artifact)]} if verdict.location else {}
        yield _result(verdict.construct or str(verdict.code), message, "error", place)


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
