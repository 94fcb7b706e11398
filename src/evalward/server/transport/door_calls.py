"""Calls that a hook or a gateway asks about, decided, counted and drained like those of the GuardService."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from evalward.errors import Code, CodedError
from evalward.server.transport.rpc_call import RpcCall

if TYPE_CHECKING:
    from collections.abc import Callable

    from evalward.server.decide.server_calls import ServerCall, ServerDecision
    from evalward.server.requests.caller import Caller
    from evalward.server.transport.guard_service import GuardService

LOG = logging.getLogger("evalward.server")


class DoorCalls:
    """Decides the calls of one door, which is called ``rpc`` in metrics."""

    def __init__(self, service: GuardService, rpc: str) -> None:
        self.service = service
        self._rpc = rpc

    def decide(
        self, read: Callable[[], ServerCall | None], caller: Caller, remaining: float | None
    ) -> ServerDecision | None:
        """Decide the call that ``read`` returns, or deny for its failure; None: there is nothing to judge."""
        call = RpcCall(self._rpc, caller)
        service = self.service
        with service.in_flight:
            calls = service.active_policy.server_calls
            try:
                asked = read()
                if asked is None:
                    return None
                decided = calls.decide(
                    asked, remaining=remaining, stopping=service.in_flight.stopping, caller=caller
                )
            except CodedError as refusal:
                decided = calls.refused(refusal, caller)
            except Exception as failure:  # noqa: BLE001 - every failure denies
                decided = calls.refused(_internal(failure), caller)
        service.finish(call, [decided.call.decision])
        return decided


def _internal(failure: Exception) -> CodedError:
    """Return the refusal for ``failure``, whose text may contain payload and is not logged."""
    trace = failure.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = "" if trace is None else f" at {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
    LOG.error("a call could not be read: %s%s", type(failure).__name__, where)
    return CodedError(Code.INTERNAL, "The call could not be read.")
