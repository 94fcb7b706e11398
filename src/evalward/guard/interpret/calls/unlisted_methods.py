"""Methods of a driver's objects that no list of its API names: they may evaluate what they are given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.catalogue.any_receiver import DRIVERS
from evalward.guard.constructs import nested_evaluation
from evalward.guard.constructs.rank import Rank
from evalward.guard.domain.atoms import SPELLS_ANY_NAME, Host
from evalward.guard.domain.heap import HeapObject

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalward.guard.catalogue import Catalogue
    from evalward.guard.domain.atoms import Atom, Value
    from evalward.guard.domain.span import Span
    from evalward.guard.interpret.findings import Findings

_PASSED_ON = frozenset({"emit"})  # to listeners of the payload, which judge what they get
_NOTHING = frozenset({"undefined", "NaN"})  # initial values of a key


def judge_unlisted(
    catalogue: Catalogue, findings: Findings, method: Atom, given: Sequence[Value], span: Span
) -> None:
    """Report a text or a function that a driver's method is given that no list names."""
    if not (isinstance(method, Host) and method.path.startswith(DRIVERS)):
        return
    name = method.path.rpartition(".")[2]
    if name not in catalogue.harmless_of_drivers | _NOTHING | _PASSED_ON and any(
        type(atom) is str or atom in SPELLS_ANY_NAME or (isinstance(atom, HeapObject) and atom.callable)
        for value in given
        for atom in value
    ):
        note = f"`{method.path}` is on no list of what a driver's objects have"
        findings.report(nested_evaluation.LABEL, Rank.USED, span, method, note)
