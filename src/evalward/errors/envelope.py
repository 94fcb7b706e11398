"""The envelope of contract.md §2: one shape for every answer, success or error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from evalward.codes import Code
from evalward.errors.canonical import JsonValue, canonical_text, to_json, to_json_object
from evalward.errors.registry import row_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evalward.errors.self_repair import Repair

_CHARS_PER_TOKEN = 4
_RESERVED = frozenset({"ok", "_meta"})


@dataclass(frozen=True, slots=True)
class Provenance:
    """What produced a verdict; ``_meta.provenance`` of every envelope, on the failure path too (seed 003).

    Digests are lower-case hex; ``grammar_version`` is the parser's grammar, name and version.
    """

    service_version: str
    policy_digest: str
    ruleset_digest: str
    grammar_version: str

    def __post_init__(self) -> None:
        """Raise NotJsonError for a text that is not valid in an envelope."""
        to_json_object(self.as_json())

    def as_json(self) -> dict[str, JsonValue]:
        """Return the fields as plain JSON data."""
        return {
            "service_version": self.service_version,
            "policy_digest": self.policy_digest,
            "ruleset_digest": self.ruleset_digest,
            "grammar_version": self.grammar_version,
        }


class Meta(NamedTuple):
    """The content of ``_meta`` apart from the token estimate.

    ``elapsed_ms`` is in milliseconds; ``would_block`` lists the findings that the policy only audits, as JSON data.
    """

    elapsed_ms: float
    decision_id: str
    provenance: Provenance
    audited: bool
    session_id: str | None = None
    would_block: tuple[Mapping[str, JsonValue], ...] = ()


def estimate_tokens(body: dict[str, JsonValue]) -> int:
    """Return ceil(characters / 4) of ``body`` (without ``_meta``) as canonical JSON, 0 when it is empty.

    The heuristic of seed 000: an estimate for budgets, within some 20 % for English prose.
    """
    return tokens_of(len(canonical_text(body))) if body else 0


def tokens_of(characters: int) -> int:
    """Return the estimate for this number of ``characters``, at least 1."""
    return -(-characters // _CHARS_PER_TOKEN)


def success_envelope(fields: Mapping[str, object], *, meta: Meta) -> dict[str, JsonValue]:
    """Return ``{ok: true, …fields, _meta}``; raise NotJsonError, or ValueError for a reserved field name."""
    clash = sorted(_RESERVED & fields.keys())
    if clash:
        raise ValueError(f"fields may not replace {', '.join(clash)} of the envelope")
    return _with_meta({"ok": True, **fields}, meta)


def error_envelope(  # noqa: PLR0913 - one parameter per optional key of the envelope
    code: str,
    message: str,
    *,
    meta: Meta,
    hint: str | None = None,
    recovery_hints: Sequence[str] | None = None,
    next_actions: Sequence[str] | None = None,
    similar_refs: Sequence[str] | None = None,
    details: Mapping[str, object] | None = None,
    repair: Repair | None = None,
    retryable: bool | None = None,
) -> dict[str, JsonValue]:
    """Return the error envelope of ``code``; hint, recovery hints and next actions default to its row.

    ``message`` is for people and may change between releases. ``retryable`` overrides the row of a plugin's code.
    Raise NotJsonError when ``details`` is not JSON, and ValueError when ``message`` is empty, when ``details``
    repeats a repair field, and when ``retryable`` would contradict the row of a code of this package.
    """
    if not message:
        raise ValueError(f"{code}: an error envelope needs a message")
    row = row_of(code)
    again = row.retryable if retryable is None else retryable
    if again is not row.retryable and row.code in Code.__members__:
        raise ValueError(f"{code}: retryable is defined by the registry")
    body: dict[str, object] = {
        "ok": False,
        "error": message,
        "code": str(code),
        "number": row.number,
        "domain": row.domain,
        "category": row.category.value,
        "cause": row.cause.value,
        "hint": row.hint if hint is None else hint,
        "recovery_hints": row.recovery_hints if recovery_hints is None else recovery_hints,
    }
    actions = row.next_actions if next_actions is None else next_actions
    optional = {
        "next_actions": actions,
        "similar_refs": similar_refs,
        "details": _details(code, details, repair),
    }
    body.update({key: value for key, value in optional.items() if value})
    return _with_meta({**body, "retryable": again, "http": row.http}, meta)


def _details(code: str, details: Mapping[str, object] | None, repair: Repair | None) -> dict[str, object]:
    fields: dict[str, object] = {**repair.as_json()} if repair else {}
    given = details or {}
    clash = sorted(fields.keys() & given.keys())
    if clash:
        raise ValueError(f"{code}: details and repair fields both give {', '.join(clash)}")
    return {**fields, **given}


def _with_meta(fields: Mapping[str, object], meta: Meta) -> dict[str, JsonValue]:
    body = to_json_object(fields)
    # This runs for each request, so data that is known to be plain is not checked again.
    block: dict[str, JsonValue] = {
        "estimated_tokens": estimate_tokens(body),
        "elapsed_ms": to_json(round(float(meta.elapsed_ms), 3)),
        "provenance": meta.provenance.as_json(),
        "decision_id": to_json(meta.decision_id),
        "audited": meta.audited,
        "would_block": to_json(meta.would_block) if meta.would_block else [],
    }
    if meta.session_id is not None:
        block["session_id"] = to_json(meta.session_id)
    body["_meta"] = block
    return body
