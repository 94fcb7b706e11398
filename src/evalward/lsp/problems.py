"""The problems of a payload: what an editor underlines, and the steps that lead there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import TYPE_CHECKING

from evalward.errors import CodedError, verdict_envelope
from evalward.errors.envelope import Provenance
from evalward.lsp.positions import Lines, Span, code_points
from evalward.policy import judge_under

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from evalward.guard.target import Shape, Target
    from evalward.guard.verdict import Finding, Location, Verdict
    from evalward.policy import Policy

    Spans = Callable[[int, int], Span]


class Severity(IntEnum):
    """LSP's ``DiagnosticSeverity``."""

    ERROR = 1
    WARNING = 2
    INFORMATION = 3
    HINT = 4


@dataclass(frozen=True, slots=True)
class Problem:
    """A diagnostic; ``code`` is the construct's label or a code of the registry, ``steps`` the trace."""

    span: Span
    severity: Severity
    code: str
    message: str
    steps: tuple[tuple[Span, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Frame:
    """Where the payloads of an editor would run, and the policy that decides."""

    policy: Policy
    target: Target
    shape: Shape | None
    sink: str | None
    bindings: Mapping[str, str]


def problems_of_payload(text: str, frame: Frame) -> tuple[Problem, ...]:
    """Return the problems of a document that is one payload."""
    lines = Lines(text)
    code = text.encode("utf-8", "surrogatepass")
    try:
        verdict = judge_under(
            frame.policy,
            code,
            target=frame.target,
            shape=frame.shape,
            bindings=frame.bindings,
            sink=frame.sink,
        )
    except CodedError as refused:
        return (Problem(lines.whole, Severity.ERROR, str(refused.code), refused.message),)
    return tuple(problems_of(verdict, byte_spans(code, lines.span), whole=lines.whole))


def byte_spans(code: bytes, span: Spans) -> Spans:
    """Return a function from offsets in bytes of ``code`` to spans, given one from offsets in code points."""
    return lambda begin, end: span(code_points(code, begin), code_points(code, end))


def problems_of(verdict: Verdict, span: Spans, *, whole: Span) -> Iterator[Problem]:
    """Yield what denies a payload, and what is only audited; ``span`` places offsets in bytes of it."""

    def at(location: Location | None) -> Span:
        return whole if location is None else span(location.start, location.end)

    def steps(finding: Finding) -> tuple[tuple[Span, str], ...]:
        return tuple((at(step.location), step.note) for step in finding.trace if step.location)

    if not verdict.allowed:
        for finding in verdict.findings:
            what = f"The payload contains the blocklisted keyword {finding.keyword}."
            if finding.keyword is None:
                what = f"The payload reaches {finding.construct}, which the policy blocks."
            yield Problem(at(finding.location), Severity.ERROR, finding.name, what, steps(finding))
        if not verdict.findings:
            yield Problem(
                at(verdict.location),
                Severity.ERROR,
                verdict.construct or str(verdict.code),
                _message(verdict),
            )
    for finding in verdict.shadow:
        what = f"The payload reaches {finding.construct}, which the policy only audits."
        yield Problem(at(finding.location), Severity.WARNING, finding.construct, what, steps(finding))


def softened(problem: Problem, message: str) -> Problem:
    """Return the same place as a hint."""
    return replace(problem, severity=Severity.HINT, message=message)


def _message(verdict: Verdict) -> str:
    envelope = verdict_envelope(
        verdict,
        elapsed_ms=0,
        decision_id="0" * 32,
        provenance=Provenance("", "", "", ""),
        audited=False,
        allowed_targets=(),
    )
    return f"{envelope['error']} {envelope['hint']}"
