"""From a question to its verdict: the rules of the day, the executor, and what the policy makes of the outcome."""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from evalward.errors import Code, CodedError, Repair
from evalward.policy import exception_of, settled, utc_day
from evalward.server.executor import Job, Lost, Overloaded, TooLong, not_begun
from evalward.server.room import PATIENCE_SHARE, check_open, overloaded, patience

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import date

    from evalward.guard.rules import Rules
    from evalward.guard.target import Target
    from evalward.guard.verdict import Verdict
    from evalward.policy import Policy, PolicyException
    from evalward.server.case import Case
    from evalward.server.executor import Begun, Executor
    from evalward.server.requests import Question

T = TypeVar("T")

LOG = logging.getLogger("evalward.server")


class _Asked(NamedTuple):
    """A question, and what it means under the policy of its day."""

    question: Question
    job: Job
    exception: PolicyException | None
    today: date


class Judging:
    """Judges questions under one policy, with one executor."""

    def __init__(self, policy: Policy, executor: Executor) -> None:
        self._policy = policy
        self._executor = executor
        self._plain_rules: dict[Target, Rules] = {}

    def judge(
        self, case: Case, question: Question, remaining: float | None, *, shape_from_text: bool = False
    ) -> Verdict:
        """Return the verdict on ``question``, unrecorded; raise CodedError when there is none.

        With ``shape_from_text`` a question without a shape is judged in the one that its text would run in.
        """
        asked = self._asked(case, question, shape_from_text=shape_from_text)
        return self._verdict(case, asked, remaining)

    def judge_together(
        self, cases: Sequence[Case], remaining: float | None
    ) -> list[Callable[[], tuple[Question, Verdict]]]:
        """Judge what each case's reading asks, together if there is room; each gives or raises its outcome.

        Each step is done for all before the next one: so it finds what it needs in the processor's cache.
        """
        asked = [_outcome(partial(self._asked_of, case, remaining)) for case in cases]
        jobs = [each.job for each in asked if isinstance(each, _Asked)]
        begun = iter(self._begun(jobs, None if remaining is None else remaining * PATIENCE_SHARE))
        judged = [
            _outcome(partial(self._verdict, case, each, remaining, next(begun)))
            if isinstance(each, _Asked)
            else each
            for case, each in zip(cases, asked, strict=True)
        ]
        return [partial(_both, each, verdict) for each, verdict in zip(asked, judged, strict=True)]

    def _asked_of(self, case: Case, remaining: float | None) -> _Asked:
        check_open(remaining, stopping=False)
        return self._asked(case, case.reading.question())

    def _begun(self, jobs: Sequence[Job], most: float | None) -> Sequence[Begun]:
        try:
            return self._executor.begin(jobs, patience=most)
        except Exception as failure:  # noqa: BLE001 - each of them is tried again by itself
            LOG.error("no job was begun: %s", type(failure).__name__)  # noqa: TRY400 - its text may hold payload
            return [not_begun] * len(jobs)

    def _asked(self, case: Case, question: Question, *, shape_from_text: bool = False) -> _Asked:
        today = utc_day()
        exception = exception_of(self._policy, question.code, question.target, tool=case.tool, today=today)
        rules = self._rules(question, exception)
        job = Job(
            question.code,
            question.target,
            question.shape,
            rules,
            shape_from_text,
            question.sink,
            case.caller.asker,
        )
        return _Asked(question, job, exception, today)

    def _verdict(
        self,
        case: Case,
        asked: _Asked,
        remaining: float | None,
        begun: Begun = not_begun,
    ) -> Verdict:
        """Return the verdict that has ``begun``, or else submit the job and wait for it."""
        try:
            verdict = begun() or self._executor.submit(asked.job, patience=patience(case, remaining))
        except Overloaded as full:
            raise overloaded(full.limit, full.allowed) from None
        except TooLong as cut:
            # No verdict, and so nothing that audit mode could let pass.
            raise CodedError(
                Code.EVAL_ANALYSIS_LIMIT,
                "The analysis did not end in the time that was left for it.",
                repair=Repair.passed("analysis_ms", cut.allowed_ms),
            ) from None
        except Lost as lost:
            raise CodedError(
                Code.GUARD_UNAVAILABLE, f"No verdict could be had: the guard's worker {lost.why}."
            ) from None
        enforcement = self._policy.enforcement_for(asked.question.target, tool=case.tool, today=asked.today)
        return settled(verdict, enforcement=enforcement, exception=asked.exception)

    def _rules(self, question: Question, exception: PolicyException | None) -> Rules:
        if not (question.limits or question.bindings or question.profile or exception):
            rules = self._plain_rules.get(question.target)
            if rules is None:
                rules = self._plain_rules[question.target] = self._policy.rules_for(question.target)
            return rules
        limits = None
        if question.limits:
            limits = replace(self._policy.limits.compiled(), **question.limits)
        return self._policy.rules_for(
            question.target,
            profile=question.profile,
            limits=limits,
            bindings=question.bindings,
            exception=exception,
        )


def _outcome(step: Callable[[], T]) -> T | Exception:
    """Return what ``step`` returns or raises."""
    try:
        return step()
    except Exception as failure:  # noqa: BLE001 - whatever went wrong, the caller gets a denial
        return failure


def _both(asked: _Asked | Exception, verdict: Verdict | Exception) -> tuple[Question, Verdict]:
    """Return what the two hold; raise the failure that is there instead."""
    if isinstance(asked, Exception):
        raise asked
    if isinstance(verdict, Exception):
        raise verdict
    return asked.question, verdict
