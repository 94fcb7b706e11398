"""The ``VerdictBinding`` message: what a verdict applies to (contract.md §3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.server.requests.proto_enums import PROFILE_NUMBERS, SHAPE_NUMBERS, TARGET_NUMBERS
from evalward.v1 import evalward_pb2 as pb

if TYPE_CHECKING:
    from evalward.guard.target import Profile, Shape, Target


def binding_message(  # noqa: PLR0913 - one parameter per field of the message
    *,
    code_hash: str,
    target: Target | None,
    shape: Shape | None,
    profile: Profile | None,
    policy_digest: str,
    decision_id: str,
    request_id: str,
    sink: str | None = None,
    hardened_hash: str | None = None,
) -> pb.VerdictBinding:
    """Return the binding; unknown parts stay unset."""
    return pb.VerdictBinding(
        code_hash=code_hash,
        target=pb.TARGET_UNSPECIFIED if target is None else TARGET_NUMBERS[target],
        shape=None if shape is None else SHAPE_NUMBERS[shape],
        policy_digest=policy_digest,
        decision_id=decision_id,
        profile=pb.PROFILE_UNSPECIFIED if profile is None else PROFILE_NUMBERS[profile],
        request_id=request_id,
        sink=sink or "",
        hardened_hash=hardened_hash or "",
    )
