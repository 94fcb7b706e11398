"""A policy file that is taken while the server serves: the new policy as a whole, or the old one goes on.

The record comes before the change: what the log cannot name does not come into force, and is tried again. A file
that is refused is a record, too, and changes nothing (service.md, Policy).
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
from evalward.server.watch import check_passing

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from evalward.audit import AuditSink
    from evalward.policy import Policy
    from evalward.server.in_force import InForce
    from evalward.server.service import GuardService

LOG = logging.getLogger("evalward.server")


@dataclass(frozen=True, slots=True)
class PolicyFile:
    """Where the policy comes from: ``load`` reads ``path`` again and adds what the operator's flags say."""

    path: Path
    load: Callable[[], Policy]


@dataclass(frozen=True, slots=True)
class Room:
    """What the sockets were made for: the size of a payload, and whether there are threads for the sandbox."""

    payload_bytes: int
    evaluates: bool

    def check(self, policy: Policy, source: Path) -> None:
        """Raise PolicyError for a policy that needs more than there is."""
        issues = []
        if policy.limits.payload_bytes > self.payload_bytes:
            problem = "more than the server has made room for at its start: restart it"
            issues.append(Issue("limits.payload_bytes", problem, f"<= {self.payload_bytes}"))
        if policy.for_target(Target.SANDBOX).allowed and not self.evaluates:
            problem = "the server has made no room for the sandbox at its start: restart it"
            issues.append(Issue("targets.sandbox.allowed", problem, "false"))
        if issues:
            raise PolicyError(str(source), issues)


class PolicyReload:
    """Takes the policy file when it is called, from any thread; ``loads`` and ``rejects`` count what came of it."""

    def __init__(  # noqa: PLR0913 - what a change of policy touches
        self,
        file: PolicyFile,
        service: GuardService,
        audit_log: AuditSink,
        *,
        under: Callable[[Policy], InForce],
        room: Room,
        weakened: Callable[[Policy], tuple[str, ...]],
    ) -> None:
        self._file = file
        self._service = service
        self._audit_log = audit_log
        self._under = under
        self._room = room
        self._weakened = weakened
        self._lock = threading.Lock()
        self.loads = self.rejects = 0

    def __call__(self) -> bool:
        """Take the file; False when it should be tried again, since the audit log does not take the record.

        Raises NotNowError when it cannot be read for now.
        """
        with self._lock:
            try:
                policy = self._file.load()
                self._room.check(policy, self._file.path)
                fresh = self._under(policy)
            except CodedError as refusal:
                check_passing(refusal)
                return self._reject(refusal)
            return self._load(fresh)

    def _load(self, fresh: InForce) -> bool:
        old, new = self._service.in_force.policy.digest, fresh.policy.digest
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
            LOG.error("policy %s waits, the old one stays: %s", new, failure)  # noqa: TRY400 - the cause is in the text
            return False
        self._service.in_force = fresh
        self.loads += 1
        LOG.info("policy %s is in force, after %s", new, old)
        return True

    def _reject(self, refusal: CodedError) -> bool:
        self.rejects += 1
        LOG.error("the policy stays, the file is refused: %s", refusal.message)
        issues = refusal.issues if isinstance(refusal, FileRefusedError) else ()
        place = next((each.field for each in issues if PATTERNS["field_path"].fullmatch(each.field)), None)
        try:
            self._audit_log.append(
                AuditRecord(
                    kind=Kind.POLICY_REJECT,
                    code=Code(refusal.code),
                    policy_digest=self._service.in_force.policy.digest,
                    field_path=place,
                    count=len(issues),
                )
            )
        except AuditUnavailable as failure:
            LOG.error("no policy_reject record: %s", failure)  # noqa: TRY400 - as above
        return True
