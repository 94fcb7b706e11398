"""The guard's reply as a decision with an envelope, and the denials that the client makes itself."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from evalward.errors import Code, Meta, Provenance, Repair, error_envelope

UNKNOWN = Provenance("unknown", "unknown", "unknown", "unknown")


class Unproven(Exception):  # noqa: N818 - becomes a denial, never raised to the caller
    """The reply is not a proven verdict on the request; the text says why, without payload."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The guard's answer. Run the payload if and only if ``allowed`` is true, and ``hardened`` instead if there is one.

    ``envelope`` is the answer as JSON data (contract.md §2). ``code`` is None exactly when ``allowed`` is
    true. ``code_hash`` is the lower-case hex SHA-256 of the judged bytes; ``decision_id`` identifies the
    decision in the audit log and is empty without a verdict. ``hardened`` is the program (ASCII) that does what the
    payload does, but cannot get hold of a denied capability; it is for the same sink or shape.
    """

    allowed: bool
    code: str | None
    envelope: dict[str, Any]
    code_hash: str = ""
    decision_id: str = ""
    hardened: bytes | None = None

    @property
    def hardened_hash(self) -> str:
        """The lower-case hex SHA-256 of the hardened program, empty for none."""
        return "" if self.hardened is None else sha256(self.hardened).hexdigest()


def denial(
    code: Code, message: str, *, hint: str | None = None, repair: Repair | None = None, **details: str
) -> Decision:
    """Return a denial by the client, with an envelope like the service's."""
    meta = Meta(elapsed_ms=0, decision_id="", provenance=UNKNOWN, audited=False)
    envelope = error_envelope(code, message, meta=meta, hint=hint, repair=repair, details=details)
    return Decision(allowed=False, code=code.value, envelope=dict(envelope))


def read_envelope(text: bytes, *, ok: bool) -> dict[str, Any]:
    """Return the envelope in ``text``; raise Unproven unless it is valid and its ``ok`` equals ``ok``."""
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
    # Two parsers may read different values for a repeated key, and one of them may be "ok": true.
    members = dict(pairs)
    if len(members) != len(pairs):
        raise Unproven("the envelope repeats a key")
    return members
