"""What the chain of a log proves about a report, and what it does not (docs/reference/audit.md, "Verify the log")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evalward.audit.record_values import Integrity

if TYPE_CHECKING:
    from evalward.audit.verification_result import Findings


@dataclass(frozen=True, slots=True)
class Proof:
    """The state of the chain in one line, and what follows from it; ``whole`` is None if it was not verified."""

    whole: bool | None
    state: str
    proven: tuple[str, ...]
    not_proven: tuple[str, ...]
    heads: tuple[str, ...] = ()


_OWNER = "A change by someone who has the key, or who controls the running server, is not visible in the log."
_PLAIN = (
    "The log has no key: an edit by someone who recomputes the chain is not visible.",
    "Every record of one of several chains may have been removed, unless a head of it was kept elsewhere.",
)
_END = "Records cut off at the very end are not visible: no head that was kept elsewhere was compared."
_UNREAD = "Lines that are no records are not counted."


def proof_of(found: Findings, *, heads_given: bool) -> Proof:
    """Return what a verification proves; ``heads_given``: heads that were kept elsewhere were compared."""
    heads = tuple(map(str, found.chains))
    if found.fault is not None:
        return Proof(
            whole=False,
            state=f"Not whole. {found.place}: {found.fault}: {found.text}",
            proven=(f"The {found.records:,} records before that line are linked.",),
            not_proven=("Nothing is proven about that line and the records after it.", _UNREAD),
            heads=heads,
        )
    keyed = found.integrity is Integrity.KEYED
    written = "as the service wrote them" if keyed else "linked by their digests"
    chains = "one chain" if len(found.chains) == 1 else f"{len(found.chains)} chains"
    proven = [f"All {found.records:,} records of {chains} are {written}, and in their order."]
    if found.torn:
        proven.append(f"Unfinished lines that the service closed: {found.torn}.")
    if heads_given:
        proven.append(
            "The heads that were kept elsewhere are in the log: its end was not cut off before them."
        )
    return Proof(
        whole=True,
        state=f"Whole, {found.integrity}.",
        proven=tuple(proven),
        not_proven=(*(() if heads_given else (_END,)), *((_OWNER,) if keyed else _PLAIN)),
        heads=heads,
    )


def unverified(key_id: str) -> Proof:
    """Return the proof of a keyed log that was read without its key."""
    return Proof(
        whole=None,
        state=f"Not verified: the log is keyed (key id {key_id}), and the report was made without the key.",
        proven=(),
        not_proven=("Nothing: any record may have been changed, added or removed.", _UNREAD),
    )
