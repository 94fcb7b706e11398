"""Prototypes of the language as receivers of functions that are not known, which may change what all code shares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.constructs import prototype_tampering
from evalward.guard.constructs.rank import Rank
from evalward.guard.domain.atoms import Known, is_prototype
from evalward.guard.interpret.objects.intrinsics import OF_LANGUAGE

if TYPE_CHECKING:
    from evalward.guard.domain.atoms import Value
    from evalward.guard.domain.span import Span
    from evalward.guard.interpret.findings import Findings


def judge_shared_receiver(findings: Findings, this: Value, span: Span) -> None:
    """Report a prototype of the language as the receiver of an unknown callee."""
    for atom in this:
        if type(atom) is Known and is_prototype(atom) and atom.path.removesuffix(".prototype") in OF_LANGUAGE:
            note = f"`{atom.path}` is the receiver of a function that is not known"
            findings.report(prototype_tampering.LABEL, Rank.BY_KEY, span, atom, note)
