"""Node kinds by name, as lowering compares them."""

from __future__ import annotations

from typing import Final

from evalward.guard.syntax.grammar import KIND_COUNT, LANGUAGE

KINDS: Final = tuple(LANGUAGE.node_kind_for_id(kind) or "" for kind in range(KIND_COUNT))


def is_named(kind: int) -> bool:
    """Whether a kind is that of named nodes; tokens are not."""
    return LANGUAGE.node_kind_is_named(kind)


def kinds(*names: str) -> frozenset[int]:
    """Return the numbers of named node kinds; a name may have several, or none in this grammar."""
    return frozenset(kind for kind, name in enumerate(KINDS) if name in names and is_named(kind))
