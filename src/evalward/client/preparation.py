"""The guard's answer to ``prepare_runtime``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evalward.client.guard_reply import Decision, Unproven, read_envelope
from evalward.client.proof import check_error

if TYPE_CHECKING:
    from evalward.v1 import evalward_pb2 as pb


@dataclass(frozen=True, slots=True)
class Preparation:
    """The ``script`` that puts the run-time into a page, and its ``key``; both are empty unless ``code`` is None.

    Run ``script`` in each document before any script of the page, and send ``key`` with each payload for it. The key
    is a secret. ``envelope`` is the answer as JSON data, without the two.
    """

    code: str | None
    envelope: dict[str, Any]
    script: str = field(default="", repr=False)
    key: str = field(default="", repr=False)
    version: str = ""

    @property
    def is_unknown(self) -> bool:
        """Whether the service does not know this RPC."""
        details = self.envelope.get("details")
        return isinstance(details, dict) and details.get("grpc_status") == "UNIMPLEMENTED"

    @classmethod
    def denied(cls, denial: Decision) -> Preparation:
        """Return ``denial`` as an answer without a script."""
        return cls(code=denial.code, envelope=denial.envelope)


def preparation_from(response: pb.PrepareRuntimeResponse) -> Preparation:
    """Return the answer in ``response``; raise Unproven when it is none."""
    outcome = response.WhichOneof("outcome")
    if outcome is None:
        raise Unproven("the reply has no outcome")
    envelope = read_envelope(response.envelope, ok=outcome == "prepared")
    if outcome == "error":
        check_error(response.error, envelope)
        return Preparation(str(envelope["code"]), envelope)
    made = response.prepared
    if not (made.script and made.key and made.version):
        raise Unproven("the reply has no script or no key")
    return Preparation(None, envelope, made.script, made.key, made.version)
