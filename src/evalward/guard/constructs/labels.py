"""The construct labels: the closed list that policy, corpus and audit log name (guard.md §3)."""

from __future__ import annotations

import re
from typing import Final

from evalward.guard.constructs import process, process_member
from evalward.guard.constructs.by_label import CONSTRUCTS
from evalward.guard.rules import Action

PROCESS_FAMILY: Final = process_member.LABEL

CONSTRUCT_LABELS = frozenset(CONSTRUCTS.keys() - {PROCESS_FAMILY})

# Constructs that hide code from the parser or exhaust the analysis are always blocked (service.md, Policy).
UNSWITCHABLE_LABELS = frozenset(label for label, each in CONSTRUCTS.items() if not each.switchable)

OFF_BY_DEFAULT_LABELS = frozenset(label for label, each in CONSTRUCTS.items() if each.default is Action.ALLOW)

RULESET_NUMBER: Final = 1
"""The ruleset in force without a pin. A minor release increments it, and so enforces what the one before audited."""


def audited_under(ruleset: int) -> frozenset[str]:
    """Return the labels that profile balanced only audits under ``ruleset``: what later ones block (contract.md §7)."""
    return frozenset(
        label
        for label, each in CONSTRUCTS.items()
        if each.since > ruleset and each.switchable and each.default is Action.BLOCK
    )


_PROCESS_MEMBER = re.compile(r"process\.[A-Za-z_$][A-Za-z0-9_$]{0,63}")


def is_known_label(label: str) -> bool:
    """Whether ``label`` is a construct's, or is ``process.`` and an ASCII member name of at most 64 characters."""
    return label in CONSTRUCT_LABELS or _PROCESS_MEMBER.fullmatch(label) is not None


def catalogue_label(label: str) -> str:
    """Return ``label`` as logs and metrics may carry it.

    That is ``process`` for a member name that a payload made up, and for the family that has no name of its own.

    Raise ValueError for an unknown label.
    """
    if label in CONSTRUCT_LABELS:
        return label
    if label == PROCESS_FAMILY:
        return process.LABEL
    if not is_known_label(label):
        raise ValueError("not a construct label of the catalogue")
    member = label.removeprefix(process_member.PREFIX)
    return label if member in process_member.DOCUMENTED_MEMBERS else process.LABEL
