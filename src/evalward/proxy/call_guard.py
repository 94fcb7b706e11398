"""What the proxy asks a guard: in this process, or a running service through its client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection

    from evalward.client.call_decision import CallDecision
    from evalward.client.denied_run import DenialReport
    from evalward.errors import CodedError
    from evalward.guard.target import Target
    from evalward.tools import Manifest


class CallGuard(Protocol):
    """Judges tool calls. Every failure is a denial; no method raises."""

    def allowed_targets(self) -> Collection[Target] | None:
        """Return the targets that the policy lets evaluate, None when the guard cannot be asked."""

    def validate_call(
        self, manifest: Manifest, tool: str, arguments_json: bytes, *, runs: Collection[str]
    ) -> CallDecision:
        """Judge the fields of a call by ``manifest``; ``runs`` are the JSON Pointers of those that must be judged.

        A running service has a manifest of its own, and judges by that.
        """

    def refused(self, tool: str, refusal: CodedError) -> dict[str, Any]:
        """Record that a call of ``tool`` is refused before anything is judged, and return the envelope."""

    def report_denial(self, decision_id: str, construct: str) -> DenialReport:
        """Record that the program of the ALLOW ``decision_id`` was denied ``construct`` while it ran."""

    def close(self) -> None:
        """End the guard, or the connection to it."""
