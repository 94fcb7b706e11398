"""Readiness (``/readyz``): whether the server can return verdicts, and if not, why.

Liveness checks none of this: a full disk must not cause a restart loop (service.md, "Observability").
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from evalward.guard.rules import Enforcement
from evalward.judging.self_test import SelfTestError, self_test
from evalward.policy import utc_day

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from evalward.audit import AuditState
    from evalward.judging.workers.worker_pool import WorkerPool
    from evalward.policy import Policy

OK: Final = "ok"
SELF_TEST_SECONDS: Final = 10.0
"""How long the result of a self-test is reused between probes."""


def parser_test(workers: WorkerPool | None) -> Callable[[], None]:
    """Return the self-test of the parser. A worker passes it before it is ready, so only its presence is checked."""
    if workers is None:
        return self_test

    def has_worker() -> None:
        if not workers.info().pids:
            raise SelfTestError("no guard worker is ready")

    return has_worker


class Report(NamedTuple):
    """``checks`` has ``ok`` or the problem, by condition."""

    checks: Mapping[str, str]
    enforcement: Mapping[str, str]
    policy_digest: str

    @property
    def is_ready(self) -> bool:
        """Whether every condition holds."""
        return all(state == OK for state in self.checks.values())

    def body(self) -> dict[str, Any]:
        """Return the JSON body of ``/readyz``."""
        return {"ready": self.is_ready, **self._asdict()}


class Readiness:
    """Checks the conditions of one server, from any thread. It is ready between ``open`` and ``close`` only."""

    def __init__(
        self,
        *,
        policy: Callable[[], Policy],
        audit: Callable[[], AuditState],
        test: Callable[[], None] = self_test,
        sockets: Callable[[], Sequence[Path]] = tuple,
        certificate: Callable[[], str] | None = None,
    ) -> None:
        self._policy = policy
        self._audit = audit
        self._test = test
        self._sockets = sockets
        self._certificate = certificate
        self._serving = "starting"
        self._parser = ""
        self._tested_at = 0.0
        self._lock = threading.Lock()

    def open(self) -> None:
        """Report that the server serves."""
        self._serving = OK

    def close(self) -> None:
        """Report that the server drains."""
        self._serving = "draining"

    def report(self) -> Report:
        """Return the current state."""
        policy, audit, today = self._policy(), self._audit(), utc_day()
        enforcement = {
            target.value: policy.enforcement_for(target, tool=None, today=today).value
            for target in policy.allowed_targets
        }
        for name, tool in sorted(policy.tools.items()):
            if tool.enforcement and tool.enforcement.on(today) is Enforcement.AUDIT:
                enforcement[f"tool {name}"] = Enforcement.AUDIT.value
        sink = OK if audit.failure is None else f"failed: {audit.failure}"
        sockets = "failed: lost" if self._sockets() else OK
        checks = {
            "serving": self._serving,
            "sockets": sockets,
            "policy": OK,
            "audit": sink,
            "parser": self._parsed(),
            **({} if self._certificate is None else {"certificate": self._certificate()}),
        }
        return Report(checks, enforcement, policy.digest)

    def _parsed(self) -> str:
        with self._lock:
            if not self._parser or time.monotonic() - self._tested_at > SELF_TEST_SECONDS:
                try:
                    self._test()
                except SelfTestError as failure:
                    self._parser = str(failure)
                except Exception as failure:  # noqa: BLE001 - a parser that raises fails the test
                    self._parser = type(failure).__name__
                else:
                    self._parser = OK
                self._tested_at = time.monotonic()
            return self._parser
