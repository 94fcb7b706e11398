"""One request from its bytes to its answer: read, judge, record, and only then an envelope.

Nothing here knows gRPC. A failure of any kind comes back as an ``Answer`` whose envelope denies; what travels
as an outcome and what as a status is for the service to tell from the code's row in the registry.
"""

from __future__ import annotations

import logging
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

from evalward.errors import (
    Code,
    CodedError,
)
from evalward.errors.stack import frames
from evalward.server.answers import Answer, Answers
from evalward.server.caller import NOBODY
from evalward.server.case import Case
from evalward.server.judging import Judging
from evalward.server.requests import Reading
from evalward.server.room import check_open

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evalward.audit import AllowRecord, AuditRecord
    from evalward.errors import Provenance
    from evalward.guard.verdict import Verdict
    from evalward.policy import Policy
    from evalward.server.caller import Caller
    from evalward.server.executor import Executor
    from evalward.server.ledger import Ledger
    from evalward.server.requests import Question
    from evalward.v1 import evalward_pb2 as pb

T = TypeVar("T")

LOG = logging.getLogger("evalward.server")


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
        self._ledger = ledger
        self._answers = Answers(policy, provenance)
        self._judging = Judging(policy, executor)

    def decide(
        self, wire: bytes, *, remaining: float | None, stopping: bool = False, caller: Caller = NOBODY
    ) -> Answer:
        """Answer the serialised ValidateRequest ``wire``; never raises.

        ``remaining`` is the caller's time in seconds (None: unlimited), ``stopping`` whether the server
        drains.
        """
        return self.answer_to(Reading(wire), remaining=remaining, stopping=stopping, caller=caller)

    def answer_to(
        self,
        reading: Reading,
        *,
        remaining: float | None,
        stopping: bool = False,
        caller: Caller = NOBODY,
    ) -> Answer:
        """Answer the request of which ``reading`` is the road, as ``decide`` does; never raises."""
        draft = self.draft(reading, remaining=remaining, stopping=stopping, caller=caller)
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
            question = reading.question()
            return question, self._judging.judge(case, question, remaining)

        return self._drafted(case, judged)

    def draft_together(
        self, readings: Sequence[Reading], *, remaining: float | None, caller: Caller = NOBODY
    ) -> list[Draft]:
        """Decide requests as ``draft`` does, judged together if there is room; never raises."""
        cases = [Case(reading, remaining, caller) for reading in readings]
        judged = self._judging.judge_together(cases, remaining)
        return [self._drafted(case, outcome) for case, outcome in zip(cases, judged, strict=True)]

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
            return self._answers.of_refusal(case, refusal, audited=audited and draft.record is not None)

        def settled() -> Answer:
            self._ledger.check(verdict, audited=audited)
            if brief and verdict.allowed:
                return self._answers.brief(case, verdict)
            return self._answers.of_verdict(case, verdict, audited=audited, context=draft.context)

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
        return self._judging.judge(case, question, remaining, shape_from_text=shape_from_text)

    def verdict_answer(
        self, case: Case, verdict: Verdict, *, audited: bool, context: bytes | None = None
    ) -> Answer:
        """Return ``verdict``, whose record was tried, as an answer; ``context`` is the payload to quote from."""
        return self._answers.of_verdict(case, verdict, audited=audited, context=context)

    def binding(self, case: Case, verdict: Verdict) -> pb.VerdictBinding:
        """Return what ``verdict`` is about."""
        return self._answers.binding(case, verdict)

    def request_binding(self, case: Case) -> pb.VerdictBinding:
        """Return what an answer is about that rests on no verdict."""
        return self._answers.request_binding(case)

    def refused(self, case: Case, refusal: CodedError) -> Answer:
        """Record ``refusal`` and return it as an answer."""
        binding = self.request_binding(case)
        audited = self._ledger.refusal(case, Code(refusal.code), binding.code_hash)
        return self._answers.of_refusal(case, refusal, audited=audited, binding=binding)
