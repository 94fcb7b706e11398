"""PrepareRuntime: the script that puts the run-time into a page, and its key."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from evalward.errors import Meta, success_envelope
from evalward.judging.preparing import Prepared, prepare_runtime
from evalward.server.decide.decisions import Decision
from evalward.server.decide.load_shedding import check_open
from evalward.server.decide.request_context import RequestContext
from evalward.server.requests.caller import UNKNOWN_CALLER
from evalward.server.requests.prepare_request import PrepareReader

if TYPE_CHECKING:
    from evalward.errors import Provenance
    from evalward.server.decide.decider import Decider
    from evalward.server.requests.caller import Caller


class Preparation(NamedTuple):
    """A decision on a PrepareRuntimeRequest. ``prepared`` is outside of it, so that nothing logs or counts the key."""

    decision: Decision
    prepared: Prepared | None = None


class Preparer:
    """Answers PrepareRuntime requests. Nothing is judged and nothing remembered, so no record is written."""

    def __init__(self, decider: Decider, provenance: Provenance) -> None:
        self._decider = decider
        self._provenance = provenance

    def decide(
        self, wire: bytes, *, remaining: float | None, stopping: bool = False, caller: Caller = UNKNOWN_CALLER
    ) -> Preparation:
        """Decide the serialised PrepareRuntimeRequest ``wire``; never raises. Parameters as in ``Decider.decide``."""
        reader = PrepareReader(wire)
        request = RequestContext(reader, remaining, caller)
        made: list[Prepared] = []

        def step() -> Decision:
            check_open(remaining, stopping=stopping)
            prepared = prepare_runtime(reader.target())
            made.append(prepared)
            meta = Meta(
                elapsed_ms=request.elapsed_ms,
                decision_id=request.decision_id,
                provenance=self._provenance,
                audited=False,
            )
            body = success_envelope({"runtime": prepared.version}, meta=meta)
            return Decision(None, body, self._decider.request_binding(request))

        decision = self._decider.guarded(request, step, is_recorded=False)
        return Preparation(decision, made[0] if made and decision.code is None else None)
