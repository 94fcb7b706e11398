"""The inputs of a run: the lowered payload, the host, and the bindings of the sink."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evalward.guard.domain.atoms import BOTTOM, V_TAINTED_DATA, V_UNDEFINED, Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evalward.guard.catalogue import Catalogue
    from evalward.guard.domain.instructions import Lowered
    from evalward.guard.domain.span import Span


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The inputs of a run, which it does not change.

    ``steps`` is the budget. ``in_page`` says that the code runs in a page, where there is no driver's object.
    ``driven`` says that it drives a page: any object may be a driver's. ``this`` is the top level's receiver,
    ``arguments_given`` what its ``arguments`` may hold. ``bindings`` are the names that the sink binds, ``modules``
    those that neither the payload nor the sink binds. ``parameters``, ``receiver`` and ``rest`` are what the sink
    calls the payload's value with, on, and what further arguments may be; ``parameters`` is None where it calls
    nothing, and ``perhaps_called`` says that it calls no more than a function that the payload made. ``cleared`` are
    the reads, as pairs of offsets, whose key a previous run found to be checked. ``alone`` says that no other code
    runs in the realm, before or after: what the payload does not call does not run.
    """

    lowered: Lowered
    catalogue: Catalogue
    steps: int
    strict: bool
    in_page: bool = False
    driven: bool = False
    this: Value = V_UNDEFINED
    bindings: Mapping[str, Value] = field(default_factory=dict)
    modules: Mapping[str, Value] = field(default_factory=dict)
    parameters: tuple[Value, ...] | None = None
    perhaps_called: bool = False
    receiver: Value = V_UNDEFINED
    rest: Value = V_TAINTED_DATA
    arguments_given: Value = BOTTOM
    env_names: frozenset[str] = frozenset()
    process_reads: frozenset[str] = frozenset()
    cleared: frozenset[Span] = frozenset()
    alone: bool = False
