"""Verdicts as JSON. Parsing checks every field, since workers are not trusted."""

from __future__ import annotations

import json
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypeVar

from evalward.codes import Code
from evalward.guard.sinks import sink_ids
from evalward.guard.target import Profile, Shape, Target
from evalward.guard.verdict import Finding, HardenedProgram, Location, Rewrite, TraceStep, Unhardened, Verdict
from evalward.judging.hardening import UNDECLARED, checked

if TYPE_CHECKING:
    from collections.abc import Callable

    from evalward.judging.executor import Job

T = TypeVar("T")

_GUARD_CODES: Final = frozenset(code for code in Code if code.startswith("EVAL_"))
_FIELDS: Final = 20
# Everything longer than a short allow contains the payload's SHA-256.
_HASH_LETTERS: Final = 64
# In a short allow a sink is a number.
_SINKS: Final = (None, *sink_ids())
# What a verdict contains besides its subject.
_told: Final = attrgetter(
    "code",
    "construct",
    "keyword",
    "location",
    "findings",
    "shadow",
    "limit",
    "message",
    "details",
    "permits",
    "hardened",
)
# The reasons for which a short allow has no program, by number.
_REASONS: Final = (None, UNDECLARED)


class NotAVerdictError(ValueError):
    """The response is not a verdict on the requested payload."""


def to_json(verdict: Verdict) -> bytes:
    """Return ``verdict`` as the guard returns it; policy fields are not transferred.

    An allow without findings or messages, the usual case, contains only its subject and why it has no program.
    """
    if not any(_told(verdict)) and verdict.unhardened in _REASONS:
        return _allow(verdict.target, verdict.shape, verdict.profile, verdict.sink, verdict.unhardened)
    fields = [
        verdict.code,
        verdict.target,
        verdict.shape,
        verdict.profile,
        verdict.code_hash,
        verdict.code_length,
        verdict.construct,
        verdict.keyword,
        _place(verdict.location),
        [_finding(each) for each in verdict.findings],
        [_finding(each) for each in verdict.shadow],
        verdict.limit,
        verdict.message,
        verdict.details,
        verdict.sink,
        verdict.findings_total,
        verdict.permits,
        _program(verdict.hardened),
        _reason(verdict.unhardened),
        [[_place(each.location), each.old, each.text] for each in verdict.rewrites],
    ]
    return json.dumps(fields, separators=(",", ":")).encode()


def from_json(text: bytes, job: Job, code_hash: str) -> Verdict:
    """Return the verdict in ``text`` on ``job``, whose payload has ``code_hash`` according to the frame header.

    Raises NotAVerdictError when it is malformed, or about something else than ``job``.
    """
    try:
        if len(text) < _HASH_LETTERS:
            target, shape, profile, sink, why = _subject(text)
            verdict = Verdict(
                None, target, shape, profile, code_hash, len(job.payload), sink=sink, unhardened=why
            )
        else:
            verdict = _read(json.loads(text))
    except (ValueError, TypeError, IndexError, RecursionError):
        raise NotAVerdictError("the response is not a verdict") from None
    is_shape = verdict.shape is job.shape or (job.shape_from_text and job.shape is None)
    about = (verdict.target, verdict.sink, verdict.profile, verdict.code_hash, verdict.code_length)
    if not is_shape or about != (job.target, job.sink, job.rules.profile, code_hash, len(job.payload)):
        raise NotAVerdictError("the verdict is about another payload")
    if (verdict.hardened or verdict.unhardened) and not (job.harden and verdict.allowed):
        raise NotAVerdictError("the job asked for no program")
    if verdict.rewrites and verdict.allowed:
        raise NotAVerdictError("an allow has no rewrite")
    return verdict


def _place(location: Location | None) -> list[int] | None:
    return None if location is None else [location.line, location.column, location.start, location.end]


def _program(program: HardenedProgram | None) -> list[str] | None:
    return None if program is None else [program.prefix, program.runtime, program.text.decode("ascii")]


def _reason(why: Unhardened | None) -> list[Any] | None:
    return None if why is None else [why.reason, _place(why.location), why.failed]


def _finding(finding: Finding) -> list[Any]:
    steps = [[step.note, _place(step.location)] for step in finding.trace]
    return [finding.construct, _place(finding.location), steps, finding.keyword]


@lru_cache(maxsize=64)
def _allow(
    target: Target | None, shape: Shape | None, profile: Profile, sink: str | None, why: Unhardened | None
) -> bytes:
    fields = [target, shape, profile, _SINKS.index(sink), _REASONS.index(why)]
    return json.dumps(fields, separators=(",", ":")).encode()


@lru_cache(maxsize=64)
def _subject(text: bytes) -> tuple[Target, Shape | None, Profile, str | None, Unhardened | None]:
    """Return the contents of a short allow; there are few such texts, and each is frequent."""
    target, shape, profile, sink, why = _list(json.loads(text))
    return (
        Target(target),
        _optional(Shape, shape),
        Profile(profile),
        _SINKS[_number(sink)],
        _REASONS[_number(why)],
    )


def _read(fields: Any) -> Verdict:
    if type(fields) is not list or len(fields) != _FIELDS:
        raise TypeError
    code, target, shape, profile, code_hash, length, construct, keyword = fields[:8]
    location, findings, shadow, limit, message, details, sink, total = fields[8:16]
    permits, hardened, unhardened, rewrites = fields[16:]
    return Verdict(
        code=_optional(_code, code),
        target=Target(target),
        shape=_optional(Shape, shape),
        profile=Profile(profile),
        code_hash=_text(code_hash),
        code_length=_number(length),
        construct=_optional(_text, construct),
        keyword=_optional(_text, keyword),
        location=_optional(_read_place, location),
        findings=tuple(map(_read_finding, _list(findings))),
        shadow=tuple(map(_read_finding, _list(shadow))),
        limit=_optional(_read_limit, limit),
        message=_text(message),
        details=tuple(map(_read_detail, _list(details))),
        sink=_optional(_text, sink),
        findings_total=_number(total),
        permits=_flag(permits),
        hardened=_optional(_read_program, hardened),
        unhardened=_optional(_read_reason, unhardened),
        rewrites=tuple(map(_read_rewrite, _list(rewrites))),
    )


def _optional(read: Callable[[Any], T], value: Any) -> T | None:
    return None if value is None else read(value)


def _code(value: Any) -> Code:
    code = Code(value)
    if code not in _GUARD_CODES:
        raise ValueError
    return code


def _text(value: Any) -> str:
    if type(value) is not str:
        raise TypeError
    return value


def _number(value: Any) -> int:
    if type(value) is not int:
        raise TypeError
    return value


def _flag(value: Any) -> bool:
    if type(value) is not bool:
        raise TypeError
    return value


def _list(value: Any) -> list[Any]:
    if type(value) is not list:
        raise TypeError
    return value


def _read_place(value: Any) -> Location:
    line, column, start, end = map(_number, _list(value))
    return Location(line, column, start, end)


def _read_finding(value: Any) -> Finding:
    construct, location, steps, keyword = _list(value)
    return Finding(
        _text(construct),
        _optional(_read_place, location),
        tuple(map(_read_step, _list(steps))),
        _optional(_text, keyword),
    )


def _read_program(value: Any) -> HardenedProgram:
    prefix, runtime, text = map(_text, _list(value))
    return checked(HardenedProgram(text.encode("ascii"), runtime, prefix))


def _read_reason(value: Any) -> Unhardened:
    reason, location, failed = _list(value)
    return Unhardened(_text(reason), _optional(_read_place, location), _flag(failed))


def _read_rewrite(value: Any) -> Rewrite:
    location, old, text = _list(value)
    return Rewrite(_read_place(location), _text(old), _text(text))


def _read_step(value: Any) -> TraceStep:
    note, location = _list(value)
    return TraceStep(_text(note), _optional(_read_place, location))


def _read_limit(value: Any) -> tuple[str, int, int | None]:
    name, allowed, actual = _list(value)
    return _text(name), _number(allowed), _optional(_number, actual)


def _read_detail(value: Any) -> tuple[str, str]:
    name, text = _list(value)
    return _text(name), _text(text)
