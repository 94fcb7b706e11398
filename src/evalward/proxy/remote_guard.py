"""A running service as the guard of the proxy: its policy and its manifest decide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalward.client import GuardClient
from evalward.client.guard_reply import UNKNOWN
from evalward.errors import Meta

if TYPE_CHECKING:
    from collections.abc import Collection

    from evalward.client.call_decision import CallDecision
    from evalward.client.denied_run import DenialReport
    from evalward.errors import CodedError
    from evalward.guard.target import Target
    from evalward.tools import Manifest


class RemoteGuard:
    """Asks the service at ``address``; the options are those of ``evalward.client.GuardClient``."""

    def __init__(self, address: str, *, token: str | None = None, session: str = "") -> None:
        self._client = GuardClient(address, token=token, timeout=1.0)
        self._session = session

    def allowed_targets(self) -> Collection[Target] | None:
        """Return None: nothing is hidden, the service denies."""
        return None

    def validate_call(
        self,
        manifest: Manifest,  # noqa: ARG002 - the service has the one that its operator gave it
        tool: str,
        arguments_json: bytes,
        *,
        runs: Collection[str],
    ) -> CallDecision:
        """Ask the service about the fields of a call."""
        return self._client.validate_call(
            tool, arguments_json, runs=runs, judged_fields_only=True, session_id=self._session
        )

    def refused(self, tool: str, refusal: CodedError) -> dict[str, Any]:  # noqa: ARG002 - the service is not asked
        """Return the envelope of ``refusal``: a service records only what it has been asked."""
        return dict(refusal.envelope(Meta(elapsed_ms=0, decision_id="", provenance=UNKNOWN, audited=False)))

    def report_denial(self, decision_id: str, construct: str) -> DenialReport:
        """Report a denial at run time to the service."""
        return self._client.report_denial(decision_id, construct)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()
