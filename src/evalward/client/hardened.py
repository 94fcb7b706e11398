"""The hardened program of an ALLOW: it counts only if binding and envelope name its hash (contract.md §3)."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from evalward.client.guard_reply import Unproven
from evalward.v1 import evalward_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Mapping


def bound_program(
    request: pb.ValidateRequest,
    binding: pb.VerdictBinding,
    hardened: pb.Hardened | None,
    envelope: Mapping[str, Any] | None,
) -> bytes | None:
    """Return the program that an ALLOW for ``request`` carries, None for an ALLOW without one.

    Raise Unproven for a program that is not the one that ``binding`` and ``envelope`` name, that is for another sink
    or shape, or that the request declined; and for an ALLOW without the program that the request requires.
    ``envelope`` is None for an item of a batch, which has none.
    """
    program = None if hardened is None else proven_program(hardened, required=request.harden)
    if program is None:
        if binding.hardened_hash or (envelope is not None and "hardened" in envelope):
            raise Unproven("the program of the verdict is missing")
        refuse_without(request.harden)
        return None
    assert hardened is not None  # noqa: S101 - it has a program
    if request.harden == pb.HARDEN_OFF or hardened.sha256 != binding.hardened_hash:
        raise Unproven("the program is not that of the verdict")
    if envelope is not None and stated_hash(envelope) != hardened.sha256:
        raise Unproven("the envelope contradicts the program")
    is_shape = hardened.HasField("shape") == binding.HasField("shape") and hardened.shape == binding.shape
    if hardened.sink != request.sink or not is_shape:
        raise Unproven("the program is for another sink or shape")
    return program


def proven_program(hardened: pb.Hardened, *, required: pb.Harden.ValueType) -> bytes | None:
    """Return the program in ``hardened``, None for none; raise Unproven unless it is what its hash says."""
    if not hardened.program and not hardened.sha256:
        return None
    if hashlib.sha256(hardened.program).hexdigest() != hardened.sha256 or required == pb.HARDEN_OFF:
        raise Unproven("the program is not that of the verdict")
    if not hardened.program.isascii():
        raise Unproven("the program is not ASCII")
    return hardened.program


def refuse_without(required: pb.Harden.ValueType) -> None:
    """Raise Unproven when a program is required, which an older service does not know."""
    if required == pb.HARDEN_REQUIRED:
        raise Unproven("it has no hardened program")


def stated_hash(about: Mapping[str, Any]) -> str:
    """Return the hash of the program that an envelope, or a part of it, names; empty for none."""
    stated = about.get("hardened")
    return str(stated.get("sha256", "")) if isinstance(stated, dict) else ""
