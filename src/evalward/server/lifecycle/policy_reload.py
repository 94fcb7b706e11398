"""Reload the policy file while serving: the new policy takes effect as a whole, or the previous one stays.

The audit record is written before the change: a policy that cannot be recorded does not take effect and is retried. A
rejected file is recorded too, and changes nothing (service.md, Policy).
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evalward.audit import AuditRecord, AuditUnavailable, Kind
from evalward.audit.record import PATTERNS
from evalward.errors import Code, CodedError
from evalward.guard.target import Target
from evalward.policy import Issue, PolicyError
from evalward.policy.policy_file import FileRefusedError
from evalward.server.file_reload import raise_if_transient

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from evalward.audit import AuditSink
    from evalward.policy import Policy
    from evalward.server.decide.active_policy import ActivePolicy
    from evalward.server.transport.guard_service import GuardService

LOG = logging.getLogger("evalward.server")


@dataclass(frozen=True, slots=True)
class PolicyFile:
    """The source of the policy: ``load`` reads ``path`` again and applies the operator's flags."""

    path: Path
    load: Callable[[], Policy]


@dataclass(frozen=True, slots=True)
class StartupCapacity:
    """What was sized at the start: the size of a payload, and threads for the sandbox."""

    payload_bytes: int
    evaluates: bool

    def check(self, policy: Policy, source: Path) -> None:
        """Raise PolicyError for a policy that exceeds it."""
        issues = []
        if policy.limits.payload_bytes > self.payload_bytes:
            problem = "exceeds the size for which the server was started: restart it"
            issues.append(Issue("limits.payload_bytes", problem, f"<= {self.payload_bytes}"))
        if policy.for_target(Target.SANDBOX).allowed and not self.evaluates:
            problem = "the server was started without threads for the sandbox: restart it"
            issues.append(Issue("targets.sandbox.allowed", problem, "false"))
        if issues:
            raise PolicyError(str(source), issues)


class PolicyReload:
    """Reloads the policy file when called, from any thread; ``loads`` and ``rejects`` count the results."""

    def __init__(  # noqa: PLR0913 - what a policy change touches
        self,
        file: PolicyFile,
        service: GuardService,
        audit_log: AuditSink,
        *,
        under: Callable[[Policy], ActivePolicy],
        capacity: StartupCapacity,
        weakened: Callable[[Policy], tuple[str, ...]],
    ) -> None:
        self._file = file
        self._service = service
        self._audit_log = audit_log
        self._under = under
        self._capacity = capacity
        self._weakened = weakened
        self._lock = threading.Lock()
        self.loads = self.rejects = 0

    def __call__(self) -> bool:
        """Reload the file; return False to retry later, when the audit log does not accept the record.

        Raises TransientFileError when the file cannot be read temporarily.
        """
        with self._lock:
            try:
                policy = self._file.load()
                self._capacity.check(policy, self._file.path)
                fresh = self._under(policy)
            except CodedError as refusal:
                raise_if_transient(refusal)
                return self._reject(refusal)
            return self._load(fresh)

    def _load(self, fresh: ActivePolicy) -> bool:
        old, new = self._service.active_policy.policy.digest, fresh.policy.digest
        if new == old:
            return True
        try:
            self._audit_log.append(
                AuditRecord(
                    kind=Kind.POLICY_LOAD,
                    policy_digest=new,
                    previous_policy_digest=old,
                    weakened=self._weakened(fresh.policy),
                )
            )
        except AuditUnavailable as failure:
            LOG.error("policy %s is retried, the previous policy stays in force: %s", new, failure)  # noqa: TRY400 - the cause is in the text
            return False
        self._service.active_policy = fresh
        self.loads += 1
        LOG.info("policy %s is in force and replaces %s", new, old)
        return True

    def _reject(self, refusal: CodedError) -> bool:
        self.rejects += 1
        LOG.error(
            "the changed policy file is rejected, the previous policy stays in force: %s", refusal.message
        )
        issues = refusal.issues if isinstance(refusal, FileRefusedError) else ()
        place = next((each.field for each in issues if PATTERNS["field_path"].fullmatch(each.field)), None)
        try:
            self._audit_log.append(
                AuditRecord(
                    kind=Kind.POLICY_REJECT,
                    code=Code(refusal.code),
                    policy_digest=self._service.active_policy.policy.digest,
                    field_path=place,
                    count=len(issues),
                )
            )
        except AuditUnavailable as failure:
            LOG.error("no policy_reject record: %s", failure)  # noqa: TRY400 - as above
        return True
