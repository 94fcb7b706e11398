"""What a client gets: a decision, always with an envelope, also when the guard could not be asked."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from evalward.errors import Code, Meta, Provenance, Repair, error_envelope

UNKNOWN = Provenance("unknown", "unknown", "unknown", "unknown")


class Unproven(Exception):  # noqa: N818 - no error of the caller's; it names why a reply is no verdict
    """A reply that cannot be taken for a verdict on what was asked; the text says why, without payload."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The guard's answer. Run the payload if and only if ``allowed`` is true.

    ``envelope`` is the answer as JSON data (contract.md §2). ``code`` is None exactly when ``allowed`` is
    true. ``code_hash`` is the lower-case hex SHA-256 of the bytes that were asked about; ``decision_id``
    finds the decision in the audit log and is empty when none was reached.
    """

    allowed: bool
    code: str | None
    envelope: dict[str, Any]
    code_hash: str = ""
    decision_id: str = ""


def denial(
    code: Code, message: str, *, hint: str | None = None, repair: Repair | None = None, **details: str
) -> Decision:
    """Return a denial that the client itself gives, in the same envelope as the service's."""
    meta = Meta(elapsed_ms=0, decision_id="", provenance=UNKNOWN, audited=False)
    envelope = error_envelope(code, message, meta=meta, hint=hint, repair=repair, details=details)
    return Decision(allowed=False, code=code.value, envelope=dict(envelope))


def read_envelope(text: bytes, *, ok: bool) -> dict[str, Any]:
    """Return the envelope in ``text``; raise Unproven unless it is one whose ``ok`` is as it must be."""
    try:
        envelope = json.loads(text, object_pairs_hook=_object)
    except (ValueError, RecursionError):
        raise Unproven("the envelope is not JSON") from None
    if not isinstance(envelope, dict) or envelope.get("ok") is not ok:
        raise Unproven("the envelope contradicts the outcome")
    if not isinstance(envelope.get("_meta"), dict):
        raise Unproven("the envelope has no _meta")
    if not ok and not isinstance(envelope.get("code"), str):
        raise Unproven("the envelope has no code")
    return envelope


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # Two readers may take different values for a repeated key, of which one may be "ok": true.
    members = dict(pairs)
    if len(members) != len(pairs):
        raise Unproven("the envelope repeats a key")
    return members
