"""Size and encoding of a payload, checked before anything else (guard.md §1, step 1)."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from evalward.codes import Code

if TYPE_CHECKING:
    from evalward.guard.rules import Limits


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a payload is rejected: a code, and the offset of the fault or the limit that is exceeded."""

    code: Code
    message: str
    offset: int | None = None
    limit: tuple[str, int, int | None] | None = None


def content_hash(payload: bytes) -> str:
    """Return the lower-case hex SHA-256 of the payload's bytes."""
    return sha256(payload).hexdigest()


def admit(payload: bytes, limits: Limits) -> Refusal | None:
    """Return why ``payload`` is rejected (size in UTF-8 bytes, strict UTF-8, no NUL), or None."""
    if len(payload) > limits.payload_bytes:
        return Refusal(
            Code.EVAL_PAYLOAD_TOO_LARGE,
            f"The payload is {len(payload)} bytes long; the limit is {limits.payload_bytes}.",
            limit=("payload_bytes", limits.payload_bytes, len(payload)),
        )
    if not payload.isascii():
        try:
            payload.decode("utf-8", "strict")
        except UnicodeDecodeError as fault:
            return Refusal(Code.EVAL_BAD_ENCODING, "The payload is not valid UTF-8.", offset=fault.start)
    nul = payload.find(0)
    if nul >= 0:
        # A NUL ends a string in C, so that the parser and the engine may see different payloads.
        return Refusal(Code.EVAL_BAD_ENCODING, "The payload contains a NUL character.", offset=nul)
    return None
