"""A verdict for the page: findings with their places in UTF-16 code units, the trace, and the other profiles."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from evalward.errors import CodedError, verdict_envelope
from evalward.errors.envelope import Provenance
from evalward.guard.constructs import construct_of
from evalward.guard.repair import judge_repaired
from evalward.guard.target import Profile
from evalward.policy import judge_under
from evalward.printable import printable
from evalward.utf16 import utf16_offset

if TYPE_CHECKING:
    from evalward.guard.verdict import Finding, Location, Verdict
    from evalward.playground.question import Frame, Question
    from evalward.policy import Policy

NOWHERE = Provenance("", "", "", "")
"""The provenance of an envelope of which only the advice is shown."""


def verdict_view(question: Question, start: Policy) -> dict[str, Any]:
    """Return the answer to ``question``; ``start`` is the policy without one of the page. Raise CodedError."""
    policy, frame, code = question.policy_in_force(start), question.frame(), question.payload
    begin = time.perf_counter()
    verdict = judge_under(policy, code, **frame._asdict(), judge=judge_repaired)
    elapsed = (time.perf_counter() - begin) * 1000
    return {
        **_summary(verdict),
        **_advice(verdict, policy),
        "profile": str(verdict.profile),
        "target": str(frame.target),
        "sink": frame.sink,
        "shape": verdict.shape and str(verdict.shape),
        "sha256": verdict.code_hash,
        "bytes": verdict.code_length,
        "elapsed_ms": round(elapsed, 2),
        "span": _span(verdict.location, code),
        "findings": [
            *(_finding(each, code, blocks=True) for each in verdict.findings),
            *(_finding(each, code, blocks=False) for each in verdict.shadow),
        ],
        "omitted": max(verdict.findings_total - len(verdict.findings), 0),
        "exception": verdict.exception_id,
        "withheld": verdict.withheld and str(verdict.withheld.code),
        "rewrites": [{"span": _span(each.location, code), "text": each.text} for each in verdict.rewrites],
        "profiles": {
            str(profile): _summary(verdict)
            if profile is verdict.profile
            else _other(policy, code, frame, profile)
            for profile in Profile
        },
    }


def _other(policy: Policy, code: bytes, frame: Frame, profile: Profile) -> dict[str, Any]:
    try:
        return _summary(judge_under(policy.with_profile(profile), code, **frame._asdict()))
    except CodedError as refused:
        return {"allowed": False, "code": str(refused.code), "about": None}


def _summary(verdict: Verdict) -> dict[str, Any]:
    about = verdict.construct or verdict.keyword
    # A label may end in a name of the payload's.
    shown = about and printable(about)
    return {"allowed": verdict.allowed, "code": verdict.code and str(verdict.code), "about": shown}


def _advice(verdict: Verdict, policy: Policy) -> dict[str, Any]:
    if verdict.allowed:
        return {"message": "", "hint": "", "next_actions": []}
    envelope = verdict_envelope(
        verdict,
        elapsed_ms=0,
        decision_id="0" * 32,
        provenance=NOWHERE,
        audited=False,
        allowed_targets=policy.allowed_targets,
        env_names=policy.env_names,
    )
    return {
        "message": printable(str(envelope["error"])),
        "hint": printable(str(envelope["hint"])),
        "next_actions": [printable(str(each)) for each in _listed(envelope.get("next_actions"))],
    }


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _finding(finding: Finding, code: bytes, *, blocks: bool) -> dict[str, Any]:
    page = construct_of(finding.construct)
    return {
        "name": printable(finding.name),
        "construct": page.label if page else None,
        "blocks": blocks,
        **_place(finding.location, code),
        "steps": [{"note": printable(step.note), **_place(step.location, code)} for step in finding.trace],
    }


def _place(location: Location | None, code: bytes) -> dict[str, Any]:
    if location is None:
        return {"span": None, "line": None, "column": None}
    return {"span": _span(location, code), "line": location.line, "column": location.column}


def _span(location: Location | None, code: bytes) -> list[int] | None:
    if location is None:
        return None
    try:
        return [utf16_offset(code, location.start), utf16_offset(code, location.end)]
    except UnicodeDecodeError:
        return None
