"""One request from its bytes to its answer: read, judge, record, and only then an envelope.

Nothing here knows gRPC. A failure of any kind comes back as an ``Answer`` whose envelope denies; what travels
as an outcome and what as a status is for the service to tell from the code's row in the registry.
"""

from __future__ import annotations

import hashlib
import json
import logging
import traceback
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from evalward.errors import (
    AllowEnvelope,
    Code,
    CodedError,
    Meta,
    Repair,
    verdict_envelope,
    would_block_names,
)
from evalward.errors.canonical import canonical_text
from evalward.errors.stack import frames
from evalward.policy import exception_of, settled, utc_day
from evalward.server.caller import NOBODY
from evalward.server.case import Case
from evalward.server.executor import Job, Overloaded, TooLong, not_begun
from evalward.server.requests import Reading
from evalward.server.wire import binding_message

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import date

    from evalward.audit import AllowRecord, AuditRecord
    from evalward.errors import Provenance
    from evalward.guard.rules import Rules
    from evalward.guard.target import Target
    from evalward.guard.verdict import Verdict
    from evalward.policy import Policy, PolicyException
    from evalward.sandbox import Evaluation
    from evalward.server.caller import Caller
    from evalward.server.executor import Begun, Executor
    from evalward.server.ledger import Ledger
    from evalward.server.requests import Question
    from evalward.v1 import evalward_pb2 as pb

T = TypeVar("T")

LOG = logging.getLogger("evalward.server")

# The part of the caller's remaining time that may be spent waiting, so that an answer still arrives in time.
PATIENCE_SHARE = 0.8


class Answer(NamedTuple):
    """What goes back: ``code`` is None if and only if the payload may run, or did and came to its end.

    ``body`` is the envelope, as JSON data or as canonical text. ``evaluation`` is how its run ended, ``run_us`` the
    run's wall time, where there was one.
    """

    code: Code | None
    body: dict[str, Any] | str
    binding: pb.VerdictBinding
    would_block: tuple[str, ...] = ()
    evaluation: Evaluation | None = None
    run_us: int = 0

    @property
    def envelope(self) -> dict[str, Any]:
        """The envelope as JSON data."""
        body = self.body
        return cast("dict[str, Any]", json.loads(body)) if isinstance(body, str) else body

    @property
    def canonical(self) -> bytes:
        """The envelope as canonical JSON."""
        body = self.body
        return (body if isinstance(body, str) else canonical_text(body)).encode()

    @property
    def details(self) -> dict[str, Any]:
        """What the envelope of a denial says in detail; an allow has no details."""
        return {} if self.code is None else self.envelope.get("details") or {}


class _Asked(NamedTuple):
    """A question, and what it means under the policy of its day."""

    question: Question
    job: Job
    exception: PolicyException | None
    today: date


class Draft(NamedTuple):
    """A decision before its record is kept: a verdict, or the refusal that there is instead of one."""

    case: Case
    record: AuditRecord | AllowRecord | None
    verdict: Verdict | None = None
    refusal: CodedError | None = None
    context: bytes | None = None

    @property
    def allows(self) -> bool:
        """Whether the payload may run, once the record is kept."""
        return self.verdict is not None and self.verdict.allowed


class Decider:
    """Answers requests under one policy, in one audit log, with one executor.

    ``verbose`` is how many stack frames the envelope of an INTERNAL failure shows. Without
    a sink that keeps its records (``NullAuditLog``) nothing is ever allowed.
    """

    def __init__(
        self,
        *,
        policy: Policy,
        ledger: Ledger,
        executor: Executor,
        provenance: Provenance,
        verbose: int = 0,
    ) -> None:
        self._verbose = verbose
        self._policy = policy
        self._digest = policy.digest
        self._allowed_targets = [*policy.allowed_targets]
        self._ledger = ledger
        self._executor = executor
        self._provenance = provenance
        self._plain_rules: dict[Target, Rules] = {}
        self._allow = AllowEnvelope(provenance)

    def decide(
        self, wire: bytes, *, remaining: float | None, stopping: bool = False, caller: Caller = NOBODY
    ) -> Answer:
        """Answer the serialised ValidateRequest ``wire``; never raises.

        ``remaining`` is the caller's time in seconds (None: unlimited), ``stopping`` whether the server
        drains.
        """
        draft = self.draft(Reading(wire), remaining=remaining, stopping=stopping, caller=caller)
        return self.settle(draft, audited=self.keep([draft]))

    def draft(
        self,
        reading: Reading,
        *,
        remaining: float | None,
        stopping: bool = False,
        caller: Caller = NOBODY,
    ) -> Draft:
        """Decide the request of which ``reading`` is the road, and record nothing yet; never raises."""
        case = Case(reading, remaining, caller)

        def judged() -> tuple[Question, Verdict]:
            check_open(remaining, stopping=stopping)
            asked = self._asked(case, reading.question())
            return asked.question, self._verdict(case, asked, remaining)

        return self._drafted(case, judged)

    def draft_together(
        self, readings: Sequence[Reading], *, remaining: float | None, caller: Caller = NOBODY
    ) -> list[Draft]:
        """Decide requests as ``draft`` does, judged together if there is room; never raises.

        Each step is done for all before the next one: so it finds what it needs in the processor's cache.
        """
        cases = [Case(reading, remaining, caller) for reading in readings]
        asked = [_outcome(partial(self._asked_of, case, remaining)) for case in cases]
        jobs = [each.job for each in asked if isinstance(each, _Asked)]
        patience = None if remaining is None else remaining * PATIENCE_SHARE
        begun = iter(self._begun(jobs, patience))
        judged = [
            _outcome(partial(self._verdict, case, each, remaining, next(begun)))
            if isinstance(each, _Asked)
            else each
            for case, each in zip(cases, asked, strict=True)
        ]
        return [
            self._drafted(case, partial(_both, each, verdict))
            for case, each, verdict in zip(cases, asked, judged, strict=True)
        ]

    def _asked_of(self, case: Case, remaining: float | None) -> _Asked:
        check_open(remaining, stopping=False)
        return self._asked(case, case.reading.question())

    def _begun(self, jobs: Sequence[Job], patience: float | None) -> Sequence[Begun]:
        try:
            return self._executor.begin(jobs, patience=patience)
        except Exception as failure:  # noqa: BLE001 - each of them is tried again by itself
            LOG.error("no job was begun: %s", type(failure).__name__)  # noqa: TRY400 - its text may hold payload
            return [not_begun] * len(jobs)

    def _drafted(self, case: Case, judged: Callable[[], tuple[Question, Verdict]]) -> Draft:
        try:
            question, verdict = judged()
            record = self._ledger.verdict_record(case, verdict)
        except Exception as failure:  # noqa: BLE001 - whatever went wrong, the caller gets a denial
            refusal = self._refusal_of(case, failure)
            digest = self.request_binding(case).code_hash
            return Draft(case, self._ledger.refusal_record(case, Code(refusal.code), digest), refusal=refusal)
        return Draft(case, record, verdict, context=question.code if question.include_context else None)

    def keep(self, drafts: Sequence[Draft]) -> bool:
        """Write the records of ``drafts`` together, as one; return whether all are kept. Never raises."""
        records = [draft.record for draft in drafts if draft.record is not None]
        case = drafts[0].case
        try:
            return self._ledger.keep(case, *records)
        except Exception as failure:  # noqa: BLE001 - what it was is logged, and nothing counts as written
            self._refusal_of(case, failure)
            return False

    def settle(self, draft: Draft, *, audited: bool, brief: bool = False) -> Answer:
        """Return the answer of ``draft``, whose record was tried; never raises. ``brief``: an allow has no envelope."""
        case, verdict = draft.case, draft.verdict
        if verdict is None:
            refusal = cast("CodedError", draft.refusal)
            return self._refused(case, refusal, audited=audited and draft.record is not None)

        def settled() -> Answer:
            self._ledger.check(verdict, audited=audited)
            if brief and verdict.allowed:
                return Answer(None, {}, self.binding(case, verdict), would_block_names(verdict))
            return self.verdict_answer(case, verdict, audited=audited, context=draft.context)

        return self.answer(case, settled)

    def answer(self, case: Case, step: Callable[[], Answer]) -> Answer:
        """Return what ``step`` returns, or the denial that its failure is; never raises."""
        try:
            return step()
        except Exception as failure:  # noqa: BLE001 - whatever went wrong, the caller gets a denial
            return self.refused(case, self._refusal_of(case, failure))

    def _refusal_of(self, case: Case, failure: Exception) -> CodedError:
        """Return ``failure`` as what the caller is told; the log gets where it happened and of which type it is.

        Not its text: an exception's text may hold payload.
        """
        if isinstance(failure, CodedError):
            return failure
        frame = traceback.extract_tb(failure.__traceback__, limit=-1)[0]
        LOG.error(
            "decision %s failed: %s at %s:%s",
            case.decision_id,
            type(failure).__name__,
            Path(frame.filename).name,
            frame.lineno,
            extra={"fields": {"decision_id": case.decision_id, "trace_id": case.caller.trace_id}},
        )
        stack = frames(failure.__traceback__, self._verbose) if self._verbose else []
        details = {"failure": type(failure).__name__, "stack": stack} if self._verbose else None
        return CodedError(Code.INTERNAL, "The request could not be judged.", details=details)

    def judge(
        self, case: Case, question: Question, remaining: float | None, *, shape_from_text: bool = False
    ) -> Verdict:
        """Return the verdict on ``question``, unrecorded; raise CodedError when there is none.

        With ``shape_from_text`` a question without a shape is judged in the one that its text would run in.
        """
        asked = self._asked(case, question, shape_from_text=shape_from_text)
        return self._verdict(case, asked, remaining)

    def _asked(self, case: Case, question: Question, *, shape_from_text: bool = False) -> _Asked:
        today = utc_day()
        exception = exception_of(self._policy, question.code, question.target, tool=case.tool, today=today)
        rules = self._rules(question, exception)
        job = Job(question.code, question.target, question.shape, rules, shape_from_text)
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
            verdict = begun() or self._executor.submit(asked.job, patience=_patience(case, remaining))
        except Overloaded as full:
            raise overloaded(full.limit, full.allowed) from None
        except TooLong as cut:
            # No verdict, and so nothing that audit mode could let pass.
            raise CodedError(
                Code.EVAL_ANALYSIS_LIMIT,
                "The analysis did not end in the time that was left for it.",
                repair=Repair(limit="analysis_ms", allowed=cut.allowed_ms),
            ) from None
        enforcement = self._policy.enforcement_for(asked.question.target, tool=case.tool, today=asked.today)
        return settled(verdict, enforcement=enforcement, exception=asked.exception)

    def verdict_answer(
        self, case: Case, verdict: Verdict, *, audited: bool, context: bytes | None = None
    ) -> Answer:
        """Return ``verdict``, whose record was tried, as an answer; ``context`` is the payload to quote from."""
        session_id = case.reading.received.session_id or None
        plain = self._allow.text(
            verdict,
            elapsed_ms=case.elapsed_ms,
            decision_id=case.decision_id,
            audited=audited,
            session_id=session_id,
        )
        if plain is not None:
            return Answer(None, plain, self.binding(case, verdict))
        envelope = verdict_envelope(
            verdict,
            elapsed_ms=case.elapsed_ms,
            decision_id=case.decision_id,
            provenance=self._provenance,
            audited=audited,
            session_id=session_id,
            allowed_targets=self._allowed_targets,
            context=context,
        )
        return Answer(verdict.code, envelope, self.binding(case, verdict), would_block_names(verdict))

    def binding(self, case: Case, verdict: Verdict) -> pb.VerdictBinding:
        """Return what ``verdict`` is about."""
        return binding_message(
            code_hash=verdict.code_hash,
            target=verdict.target,
            shape=verdict.shape,
            profile=verdict.profile,
            policy_digest=self._digest,
            decision_id=case.decision_id,
            request_id=case.reading.received.request_id,
        )

    def request_binding(self, case: Case) -> pb.VerdictBinding:
        """Return what an answer is about that rests on no verdict."""
        received = case.reading.received
        subject = received.code if received.arguments is None else received.arguments
        return binding_message(
            code_hash=hashlib.sha256(subject).hexdigest(),
            target=received.target,
            shape=received.shape,
            profile=None,
            policy_digest=self._digest,
            decision_id=case.decision_id,
            request_id=received.request_id,
        )

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

    def refused(self, case: Case, refusal: CodedError) -> Answer:
        """Record ``refusal`` and return it as an answer."""
        binding = self.request_binding(case)
        audited = self._ledger.refusal(case, Code(refusal.code), binding.code_hash)
        return self._refused(case, refusal, audited=audited, binding=binding)

    def _refused(
        self, case: Case, refusal: CodedError, *, audited: bool, binding: pb.VerdictBinding | None = None
    ) -> Answer:
        """Return ``refusal``, whose record was tried, as an answer."""
        meta = Meta(
            elapsed_ms=case.elapsed_ms,
            decision_id=case.decision_id,
            provenance=self._provenance,
            audited=audited,
            session_id=case.reading.received.session_id or None,
        )
        return Answer(Code(refusal.code), refusal.envelope(meta), binding or self.request_binding(case))


def check_open(remaining: float | None, *, stopping: bool) -> None:
    """Raise CodedError when the service drains, or the caller no longer waits."""
    if stopping:
        raise CodedError(Code.SHUTTING_DOWN, "The service is shutting down.")
    if remaining is not None and remaining <= 0:
        raise CodedError(Code.DEADLINE_EXCEEDED, "The caller's deadline has passed.")


def overloaded(limit: str, allowed: int) -> CodedError:
    """Return the refusal for want of room: ``limit`` is what ran out, ``allowed`` its size."""
    return CodedError(
        Code.OVERLOADED,
        "The service has no room for another request.",
        repair=Repair(limit=limit, allowed=allowed),
    )


def _patience(case: Case, remaining: float | None) -> float | None:
    left = case.left_of(remaining)
    return None if left is None else left * PATIENCE_SHARE


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
