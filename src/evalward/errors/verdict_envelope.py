"""A verdict as an envelope, for ``evalward check`` and the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.codes import Code
from evalward.errors.causes import advice_on, first_finding, rewritten
from evalward.errors.context import source_context
from evalward.errors.envelope import Meta, Provenance, error_envelope, success_envelope
from evalward.errors.self_repair import Repair

if TYPE_CHECKING:
    from collections.abc import Collection

    from evalward.errors.canonical import JsonValue
    from evalward.guard.verdict import Finding, HardenedProgram, Location, TraceStep, Verdict


def verdict_envelope(  # noqa: PLR0913 - the verdict, and one parameter per key of _meta
    verdict: Verdict,
    *,
    elapsed_ms: float,
    decision_id: str,
    provenance: Provenance,
    audited: bool,
    session_id: str | None = None,
    allowed_targets: Collection[str] | None = None,
    env_names: Collection[str] = (),
    context: bytes | None = None,
    target_field: str | None = "/target",
    payload_field: str | None = "/code",
    item_index: int | None = None,
) -> dict[str, JsonValue]:
    """Return the envelope of ``verdict`` (contract.md §2).

    ``allowed_targets`` are the targets that the policy opted in, for EVAL_TARGET_DENIED, and ``env_names`` the
    environment variables that it allows. ``target_field`` and
    ``payload_field`` point to the target and the payload in the request; None if it has none. The next actions of
    a blocked keyword or construct follow its cause, and ``details.repairable`` says whether the caller can repair it
    (``causes``). ``details.rewrite`` are the edits after which it is allowed, if they are mechanical.
    ``details.findings`` lists every keyword and
    construct that denies the payload, at most ``MAX_FINDINGS`` of ``details.findings_total``;
    ``details.findings_omitted`` is how many are left out. ``context`` is the payload, if the reply quotes the lines
    around its findings. ``item_index`` is the index, from 0, of an item of a batch or stream.
    """
    item = {} if item_index is None else {"item_index": item_index}
    meta = Meta(
        elapsed_ms=elapsed_ms,
        decision_id=decision_id,
        provenance=provenance,
        audited=audited,
        session_id=session_id,
        would_block=would_block(verdict),
    )
    if verdict.code is None:
        fields = {
            "target": verdict.target,
            "shape": verdict.shape,
            **_sink(verdict),
            "profile": verdict.profile,
            "code_hash": verdict.code_hash,
            "code_length": verdict.code_length,
            **hardened_fields(verdict),
            **item,
        }
        return success_envelope(fields, meta=meta)
    advice = rewritten(verdict) or advice_on(verdict, env_names)
    repairable = {} if advice is None else {"repairable": advice.repairable}
    return error_envelope(
        verdict.code,
        _message(verdict, verdict.code),
        meta=meta,
        next_actions=None if advice is None else advice.next_actions,
        details={**_details(verdict, verdict.code), **repairable, **_quoted(verdict, context), **item},
        repair=_repair(verdict, allowed_targets, target_field=target_field, payload_field=payload_field),
    )


def hardened_fields(verdict: Verdict) -> dict[str, object]:
    """Return ``hardened`` for an allow with a program, ``not_hardened`` for one whose program could not be made.

    The program itself is not in the envelope: a caller gets it next to the envelope, and compares its hash.
    """
    program, why = verdict.hardened, verdict.unhardened
    if program is not None:
        return {"hardened": program_json(program)}
    if why is not None:
        place = {} if why.location is None else {"location": _where(why.location)}
        return {"not_hardened": {"reason": why.reason, **place}}
    return {}


def program_json(program: HardenedProgram) -> dict[str, JsonValue]:
    """Return what an envelope says about ``program``."""
    return {"sha256": program.sha256, "length": len(program.text), "runtime": program.runtime}


def would_block(verdict: Verdict) -> tuple[dict[str, JsonValue], ...]:
    """Return ``_meta.would_block`` for ``verdict``: what the policy only audits, or permits in shadow mode."""
    found = [_finding(finding) for finding in verdict.shadow]
    withheld = verdict.withheld
    if withheld is not None:
        found += [_finding(finding) for finding in withheld.findings if finding.keyword is not None]
    if withheld is not None and withheld.limit is not None:
        found.append({"limit": withheld.limit[0], "location": _where(withheld.location)})
    return tuple(found)


def would_block_names(verdict: Verdict) -> tuple[str, ...]:
    """Return the names of these findings: construct labels, ``keyword:<id>``, ``limit:<name>``."""
    names = [finding.construct for finding in verdict.shadow]
    withheld = verdict.withheld
    if withheld is not None:
        keywords = (finding.name for finding in withheld.findings if finding.keyword is not None)
        names += dict.fromkeys(keywords)
    if withheld is not None and withheld.limit is not None:
        names.append(f"limit:{withheld.limit[0]}")
    return tuple(names)


def _quoted(verdict: Verdict, payload: bytes | None) -> dict[str, object]:
    if payload is None:
        return {}
    # The verdict's own location is that of a finding; a denial without findings has only this one.
    places = [finding.location for finding in verdict.findings] or [verdict.location]
    if verdict.location is not None:
        places.sort(key=lambda place: place != verdict.location)
    unlisted = _total(verdict) - len(verdict.findings)
    context = source_context(payload, [place for place in places if place is not None], unlisted=unlisted)
    return {"context": context} if context else {}


def _message(verdict: Verdict, code: Code) -> str:
    if code is Code.EVAL_TARGET_DENIED:
        target = _target_name(verdict)
        return f"The policy denies eval in the target {target}."
    if code is Code.EVAL_BLOCKED_KEYWORD:
        return f"The payload contains the blocklisted keyword {verdict.keyword}{_place(verdict.location)}."
    return verdict.message or _default_message(verdict, code)


def _target_name(verdict: Verdict) -> str:
    return "<target>" if verdict.target is None else verdict.target.value


def _default_message(verdict: Verdict, code: Code) -> str:
    place = _place(verdict.location)
    if code is Code.EVAL_BLOCKED_CONSTRUCT:
        return f"The payload reaches {verdict.construct}, which the policy blocks{place}."
    if verdict.limit is not None:
        name, allowed, actual = verdict.limit
        found = "" if actual is None else f" ({actual} found)"
        return f"The payload exceeds the limit {name} of {allowed}{found}."
    if code is Code.EVAL_SYNTAX_ERROR:
        return f"The payload is not valid JavaScript in the declared shape{place}."
    return f"The payload was denied with {code}{place}."


def _place(location: Location | None) -> str:
    return f" at line {location.line}, column {location.column}" if location else ""


def _repair(
    verdict: Verdict,
    allowed_targets: Collection[str] | None,
    *,
    target_field: str | None,
    payload_field: str | None,
) -> Repair | None:
    if verdict.code is Code.EVAL_TARGET_DENIED:
        return Repair(
            field=target_field,
            allowed=None if allowed_targets is None else sorted(allowed_targets),
            required=[f"--allow-eval={_target_name(verdict)}"],
        )
    if verdict.limit is not None:
        name, value, actual = verdict.limit
        return Repair.passed(name, value, field=payload_field, actual=actual)
    return None


def _details(verdict: Verdict, code: Code) -> dict[str, object]:
    details: dict[str, object] = {"code_hash": verdict.code_hash, **_sink(verdict)}
    if code is Code.EVAL_BLOCKED_CONSTRUCT:
        first = first_finding(verdict)
        details["construct"] = verdict.construct
        details["location"] = _where(verdict.location)
        details["trace"] = [_step(step) for step in first.trace] if first else []
    elif code is Code.EVAL_BLOCKED_KEYWORD:
        details["keyword"] = verdict.keyword
        details["where"] = _where(verdict.location)
    elif verdict.location is not None:
        details["location"] = _where(verdict.location)
    if verdict.rewrites:
        details["rewrite"] = [
            {"location": _where(each.location), "text": each.text} for each in verdict.rewrites
        ]
    if verdict.findings:
        details["findings"] = [_finding(finding) for finding in verdict.findings]
        details["findings_total"] = _total(verdict)
        details["findings_omitted"] = _total(verdict) - len(verdict.findings)
    return {**dict(verdict.details), **details}


def _total(verdict: Verdict) -> int:
    return max(verdict.findings_total, len(verdict.findings))


def _sink(verdict: Verdict) -> dict[str, str]:
    return {} if verdict.sink is None else {"sink": verdict.sink}


def _where(location: Location | None) -> dict[str, JsonValue] | None:
    if location is None:
        return None
    return {"line": location.line, "column": location.column, "start": location.start, "end": location.end}


def _step(step: TraceStep) -> dict[str, object]:
    place = step.location
    return {"note": step.note, **({"line": place.line, "column": place.column} if place else {})}


def _finding(finding: Finding) -> dict[str, JsonValue]:
    named = {"construct": finding.construct} if finding.keyword is None else {"keyword": finding.keyword}
    return {**named, "location": _where(finding.location)}
