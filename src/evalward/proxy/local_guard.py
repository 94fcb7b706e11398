"""The whole service in this process, without sockets: policy, workers, verdict cache, hardening, audit log."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from cachetools import LRUCache

from evalward.client.call_decision import CallDecision
from evalward.client.denied_run import DenialReport
from evalward.client.guard_reply import Unproven, denial
from evalward.client.question import Questions
from evalward.client.request_fields import Unsendable
from evalward.errors import Code, CodedError
from evalward.guard.repair import judge_repaired
from evalward.judging.caching import CachingExecutor
from evalward.judging.in_process import InProcessExecutor
from evalward.judging.verdict_cache import VerdictCache
from evalward.server.decide.active_policy import ActivePolicy, DeciderParts
from evalward.server.decide.request_context import RequestContext
from evalward.server.requests.validate_request import CALLER_TEXT, Received, RequestReader
from evalward.server.settings import Settings
from evalward.server.transport.responses import call_response, report_response

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from evalward.audit import AuditSink
    from evalward.client.guard_reply import Decision
    from evalward.client.question import Question
    from evalward.errors import Provenance
    from evalward.guard.target import Target
    from evalward.judging.executor import Executor
    from evalward.policy import Policy
    from evalward.tools import Manifest

R = TypeVar("R")

SECONDS: Final = 20.0
"""For the verdict on a call, beyond which it is a denial: workers that start on a busy desktop take several."""
_MANIFESTS: Final = 16


class LocalGuard:
    """Judges under ``policy`` and writes to ``audit_log``, which it closes. ``workers`` 0: in the calling thread."""

    def __init__(
        self,
        policy: Policy,
        provenance: Provenance,
        audit_log: AuditSink,
        *,
        workers: int = 1,
        session: str = "",
    ) -> None:
        settings = Settings()
        self._policy = policy
        self._provenance = provenance
        self._audit_log = audit_log
        self._session = session
        self._executor: Executor = CachingExecutor(
            _executor(workers, settings), VerdictCache(settings.verdict_cache)
        )
        self._parts = DeciderParts.without_sockets(audit_log, self._executor, validates_commands=False)
        self._active = self._parts.under(policy, provenance)
        self._lock = threading.Lock()
        self._by_manifest: LRUCache[str, ActivePolicy] = LRUCache(_MANIFESTS)
        self._questions = Questions(SECONDS)

    def allowed_targets(self) -> Collection[Target]:
        """Return the targets that the policy lets evaluate."""
        return self._policy.allowed_targets

    def validate_call(
        self, manifest: Manifest, tool: str, arguments_json: bytes, *, runs: Collection[str]
    ) -> CallDecision:
        """Judge and record the fields of a call; raise ManifestError for bindings that the policy rejects."""
        try:
            question = self._questions.validate_call(
                tool, arguments_json, runs=runs, judged_fields_only=True, session_id=self._session
            )
        except Unsendable as refusal:
            return CallDecision.denied(denial(refusal.code, f"The call cannot be judged: {refusal}."))
        decided = self._under(manifest).calls.decide(_wire(question), remaining=question.seconds)
        return _read(question, call_response(decided), CallDecision.denied)

    def refused(self, tool: str, refusal: CodedError) -> dict[str, Any]:
        """Record a call that is refused before anything is judged."""
        request = RequestContext(RequestReader(b""))
        request.tool = tool if CALLER_TEXT.fullmatch(tool) else None
        request.reader.receive(Received(), session_id=self._session, request_id="")
        return dict(self._active.decider.refused(request, refusal).envelope)

    def report_denial(self, decision_id: str, construct: str) -> DenialReport:
        """Record a denial at run time."""
        question = self._questions.report_denial(decision_id, construct)
        decided = self._active.reports.decide(_wire(question), remaining=question.seconds)
        return _read(question, report_response(decided), DenialReport.denied)

    def _under(self, manifest: Manifest) -> ActivePolicy:
        """Return the deciders under ``manifest``; sessions of one server share them."""
        with self._lock:
            found = self._by_manifest.get(manifest.digest)
            if found is None:
                parts = replace(self._parts, manifest=manifest)
                found = self._by_manifest[manifest.digest] = parts.under(self._policy, self._provenance)
            return found

    def close(self) -> None:
        """End the workers and close the audit log."""
        self._executor.close()
        self._audit_log.close()


def _executor(workers: int, settings: Settings) -> Executor:
    if not workers:
        return InProcessExecutor(judge_repaired, max_concurrent=settings.max_concurrent, queue=settings.queue)
    # Imported here: the pool needs Unix sockets, and a system without them judges in this process.
    from evalward.judging.workers.worker_pool import WorkerPool  # noqa: PLC0415

    return WorkerPool(workers, queue=settings.queue)


def _wire(question: Question[Any]) -> bytes:
    return question.request.SerializeToString()


def _read(question: Question[R], response: Any, deny: Callable[[Decision], R]) -> R:
    """Return the reply in ``response``, checked as a client checks it."""
    try:
        return question.read(response)
    except Unproven as why:
        return deny(denial(Code.INTERNAL, f"The verdict does not hold: {why}."))
