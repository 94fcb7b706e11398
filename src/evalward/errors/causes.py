"""What a caller can do about a denial, by its cause: the construct, and what the trace says was done with it.

A construct's page says what to use instead of the construct in general. A cause is narrower: to stub a member of
`electron.shell` and to call it are one construct and need different advice.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from evalward.codes import Code
from evalward.errors.cause_rows import CAUSES, ELSEWHERE, ENVIRONMENT, ENVIRONMENT_NAMES, KEYWORDS, NO, SYNTAX

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from evalward.guard.verdict import Finding, Rewrite, Verdict


class Repairable(StrEnum):
    """Whether a caller can repair a denied payload: here, elsewhere (driver, application), or not at all."""

    YES = "yes"
    NO = "no"
    ELSEWHERE = "elsewhere"


@dataclass(frozen=True, slots=True)
class Advice:
    """What an envelope says about a repair; ``next_actions`` are None where those of the registry's row apply."""

    repairable: Repairable
    next_actions: tuple[str, ...] | None = None


class _Cause(NamedTuple):
    note: re.Pattern[str]
    advice: Advice


_BY_WEIGHT: Final = (Repairable.YES, Repairable.ELSEWHERE, Repairable.NO)
_MAX_FURTHER: Final = 3
_MOST_NAMES: Final = 12
_OF_CODE: Final = {
    Code.EVAL_BLOCKED_KEYWORD: Repairable.YES,
    Code.EVAL_BLOCKED_CONSTRUCT: Repairable.YES,
    Code.EVAL_SYNTAX_ERROR: Repairable.YES,
    Code.EVAL_BAD_ENCODING: Repairable.YES,
    Code.EVAL_ANALYSIS_LIMIT: Repairable.YES,
    Code.EVAL_PAYLOAD_TOO_LARGE: Repairable.YES,
    Code.EVAL_TARGET_DENIED: Repairable.ELSEWHERE,
}


def advice_on(verdict: Verdict, env_names: Iterable[str] = ()) -> Advice | None:
    """Return the advice for a denial by its first cause, None for an allow and for a code that no payload causes.

    ``env_names`` are the environment variables that the policy allows besides those that every policy does.
    """
    advice = _by_code(verdict)
    return None if advice is None else _named(advice, env_names)


def rewritten(verdict: Verdict) -> Advice | None:
    """Return the advice to make the verdict's own edits, None for a verdict without them."""
    if not verdict.rewrites:
        return None
    edits = [_edit(each) for each in verdict.rewrites]
    if len(edits) == 1:
        return Advice(Repairable.YES, (f"{edits[0]} The result was judged: it is allowed.",))
    return Advice(
        Repairable.YES, ("Make these edits together; the result was judged and is allowed.", *edits)
    )


def _edit(rewrite: Rewrite) -> str:
    place = f"{rewrite.location.line}:{rewrite.location.column}"
    if not rewrite.old:
        return f"At {place} insert: {rewrite.text}"
    if not rewrite.text:
        return f"At {place} remove: {rewrite.old}"
    return f"At {place} replace {rewrite.old} by: {rewrite.text}"


def _by_code(verdict: Verdict) -> Advice | None:
    if verdict.code is None or verdict.code not in _OF_CODE:
        return None
    plain = Advice(_OF_CODE[verdict.code])
    if verdict.code is Code.EVAL_SYNTAX_ERROR:
        kind = dict(verdict.details).get("syntax")
        return plain if kind is None else Advice(plain.repairable, SYNTAX[kind])
    if verdict.code is Code.EVAL_BLOCKED_KEYWORD:
        return _joined(_of_keyword(verdict) or plain, verdict)
    if verdict.code is Code.EVAL_BLOCKED_CONSTRUCT and verdict.construct is not None:
        return _joined(of_construct(verdict.construct, first_finding(verdict)), verdict)
    return plain


def first_finding(verdict: Verdict) -> Finding | None:
    """Return the finding with the verdict's own construct and location."""
    same = [finding for finding in verdict.findings if finding.construct == verdict.construct]
    at_place = [finding for finding in same if finding.location == verdict.location]
    return next(iter(at_place or same), None)


def _named(advice: Advice, env_names: Iterable[str]) -> Advice:
    """Return ``advice`` with the names of the environment variables that may be read."""
    if advice.next_actions is None:
        return advice
    names = ", ".join([*dict.fromkeys([*ENVIRONMENT_NAMES, *sorted(env_names)[:_MOST_NAMES]])])
    return Advice(advice.repairable, tuple(each.replace(ENVIRONMENT, names) for each in advice.next_actions))


def of_construct(construct: str, finding: Finding | None = None) -> Advice:
    """Return the advice for ``construct``: that of the cause in the trace of ``finding``, else that of its page."""
    notes = [] if finding is None else [step.note for step in finding.trace]
    for cause in _causes().get(construct, ()):
        if any(cause.note.fullmatch(note) for note in notes):
            return cause.advice
    from evalward.guard.constructs import construct_of  # noqa: PLC0415 - clients do without the guard

    page = construct_of(construct)
    label = construct if page is None else page.label
    repairable = (
        Repairable.ELSEWHERE if label in ELSEWHERE else Repairable.NO if label in NO else Repairable.YES
    )
    return Advice(repairable, page.use_instead if page else None)


def _joined(first: Advice, verdict: Verdict) -> Advice:
    """Return ``first`` with the best action for each further cause: a repair of one alone would be denied again."""
    if first.next_actions is None:
        return first
    others = [of_construct(each.construct, each) for each in verdict.findings if each.keyword is None]
    more = dict.fromkeys(each.next_actions[0] for each in others if each.next_actions and each != first)
    actions = dict.fromkeys([*first.next_actions, *[*more][:_MAX_FURTHER]])
    worst = max((first.repairable, *(each.repairable for each in others)), key=_BY_WEIGHT.index)
    return Advice(worst, tuple(actions))


def _of_keyword(verdict: Verdict) -> Advice | None:
    """Return the advice for the construct that the keyword stands for, from its own finding if there is one."""
    construct = KEYWORDS.get(verdict.keyword or "")
    if construct is None:
        return None
    labels: Sequence[str] = construct.split("|")
    found = next(
        (each for each in verdict.findings if each.keyword is None and each.construct in labels), None
    )
    return of_construct(labels[0] if found is None else found.construct, found)


@cache
def _causes() -> dict[str, list[_Cause]]:
    causes: dict[str, list[_Cause]] = {}
    for construct, note, repairable, *actions in CAUSES:
        advice = Advice(Repairable(repairable), tuple(actions))
        causes.setdefault(construct, []).append(_Cause(re.compile(note), advice))
    return causes
