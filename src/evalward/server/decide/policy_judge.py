"""Judge a request under one policy: its rules for today, the executor, and the enforcement of the verdict."""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from evalward.errors import Code, CodedError, Repair
from evalward.guard.rules import Hardening
from evalward.judging.executor import Job, Lost, Overloaded, TooLong, not_started
from evalward.judging.hardening import renewed
from evalward.judging.preparing import for_prepared
from evalward.policy import exception_of, hardened_under, settled, utc_day
from evalward.server.decide.load_shedding import PATIENCE_SHARE, check_open, overloaded, patience

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import date

    from evalward.guard.rules import Rules
    from evalward.guard.target import Target
    from evalward.guard.verdict import Verdict
    from evalward.judging.executor import Executor, PendingVerdict
    from evalward.policy import Policy, PolicyException
    from evalward.server.decide.request_context import RequestContext
    from evalward.server.requests.validate_request import ValidationRequest

T = TypeVar("T")

LOG = logging.getLogger("evalward.server")


class _Asked(NamedTuple):
    """A request and its meaning under today's policy."""

    validation_request: ValidationRequest
    job: Job
    exception: PolicyException | None
    today: date
    hardening: Hardening


class PolicyJudge:
    """Judges requests under one policy with one executor."""

    def __init__(self, policy: Policy, executor: Executor) -> None:
        self._policy = policy
        self._executor = executor
        self._plain_rules: dict[Target, Rules] = {}

    def judge(
        self,
        request: RequestContext,
        validation_request: ValidationRequest,
        remaining: float | None,
        *,
        shape_from_text: bool = False,
    ) -> Verdict:
        """Return the verdict on ``validation_request`` without recording it; raise CodedError if there is none.

        With ``shape_from_text`` a request without a shape is judged in the shape in which the sandbox would run its
        text.
        """
        asked = self._asked(request, validation_request, shape_from_text=shape_from_text)
        return self._verdict(request, asked, remaining)

    def judge_together(
        self, requests: Sequence[RequestContext], remaining: float | None
    ) -> list[Callable[[], tuple[ValidationRequest, Verdict]]]:
        """Judge all ``requests``, together if a worker is free; each callable returns or raises one outcome.

        Each step runs for all requests before the next step: this keeps its code and data in the processor's cache.
        """
        asked = [_outcome(partial(self._asked_of, request, remaining)) for request in requests]
        jobs = [each.job for each in asked if isinstance(each, _Asked)]
        begun = iter(self._begun(jobs, None if remaining is None else remaining * PATIENCE_SHARE))
        judged = [
            _outcome(partial(self._verdict, request, each, remaining, next(begun)))
            if isinstance(each, _Asked)
            else each
            for request, each in zip(requests, asked, strict=True)
        ]
        return [partial(_both, each, verdict) for each, verdict in zip(asked, judged, strict=True)]

    def _asked_of(self, request: RequestContext, remaining: float | None) -> _Asked:
        check_open(remaining, stopping=False)
        return self._asked(request, request.reader.validation_request())

    def _begun(self, jobs: Sequence[Job], most: float | None) -> Sequence[PendingVerdict]:
        try:
            return self._executor.begin(jobs, patience=most)
        except Exception as failure:  # noqa: BLE001 - each job is then submitted by itself
            LOG.error("no job was started: %s", type(failure).__name__)  # noqa: TRY400 - its text may hold payload
            return [not_started] * len(jobs)

    def _asked(
        self, request: RequestContext, validation_request: ValidationRequest, *, shape_from_text: bool = False
    ) -> _Asked:
        today = utc_day()
        exception = exception_of(
            self._policy, validation_request.code, validation_request.target, tool=request.tool, today=today
        )
        rules = self._rules(validation_request, exception)
        hardening = self._policy.hardening_for(
            validation_request.target,
            tool=request.tool,
            least=request.least_hardening,
            wish=validation_request.harden,
            today=today,
        )
        if request.is_inert or (hardening is Hardening.OFFERED and not request.takes_offers):
            hardening = Hardening.OFF
        job = Job(
            validation_request.code,
            validation_request.target,
            validation_request.shape,
            rules,
            shape_from_text,
            validation_request.sink,
            request.caller.requester,
            hardening is not Hardening.OFF,
        )
        return _Asked(validation_request, job, exception, today, hardening)

    def _verdict(
        self,
        request: RequestContext,
        asked: _Asked,
        remaining: float | None,
        begun: PendingVerdict = not_started,
    ) -> Verdict:
        """Return the verdict that has ``begun``; otherwise submit the job and wait for it."""
        try:
            verdict = begun() or self._executor.submit(asked.job, patience=patience(request, remaining))
        except Overloaded as full:
            raise overloaded(full.limit, full.allowed) from None
        except TooLong as cut:
            # There is no verdict, so audit mode cannot let the payload pass.
            raise CodedError(
                Code.EVAL_ANALYSIS_LIMIT,
                "The analysis did not finish in the time left for it.",
                repair=Repair.passed("analysis_ms", cut.allowed_ms),
            ) from None
        except Lost as lost:
            raise CodedError(
                Code.GUARD_UNAVAILABLE, f"No verdict is available: the guard's worker {lost.why}."
            ) from None
        enforcement = self._policy.enforcement_for(
            asked.validation_request.target, tool=request.tool, today=asked.today
        )
        verdict = settled(verdict, enforcement=enforcement, exception=asked.exception)
        verdict = renewed(hardened_under(asked.hardening, verdict))
        # Not part of the job: neither a worker nor the cache gets the key.
        key = asked.validation_request.prepared
        return for_prepared(verdict, key) if key else verdict

    def _rules(self, validation_request: ValidationRequest, exception: PolicyException | None) -> Rules:
        if not (
            validation_request.limits
            or validation_request.bindings
            or validation_request.profile
            or exception
        ):
            rules = self._plain_rules.get(validation_request.target)
            if rules is None:
                rules = self._plain_rules[validation_request.target] = self._policy.rules_for(
                    validation_request.target
                )
            return rules
        limits = None
        if validation_request.limits:
            limits = replace(self._policy.limits.compiled(), **validation_request.limits)
        return self._policy.rules_for(
            validation_request.target,
            profile=validation_request.profile,
            limits=limits,
            bindings=validation_request.bindings,
            exception=exception,
        )


def _outcome(step: Callable[[], T]) -> T | Exception:
    """Return the result of ``step`` or the exception that it raises."""
    try:
        return step()
    except Exception as failure:  # noqa: BLE001 - every failure denies
        return failure


def _both(asked: _Asked | Exception, verdict: Verdict | Exception) -> tuple[ValidationRequest, Verdict]:
    """Return the request and its verdict; raise whichever of the two is an exception."""
    if isinstance(asked, Exception):
        raise asked
    if isinstance(verdict, Exception):
        raise verdict
    return asked.validation_request, verdict
