"""The handlers of the GuardService RPCs: domain failures are outcomes, infrastructure failures are rich statuses.

Only implemented RPCs are registered; gRPC itself answers UNIMPLEMENTED for the rest of ``evalward.v1``.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

import grpc

from evalward.errors import REGISTRY, CodedError
from evalward.server.decide.load_shedding import overloaded
from evalward.server.decide.request_context import RequestContext
from evalward.server.limit_names import UNREAD
from evalward.server.observe.observer import Observers
from evalward.server.requests.caller import TRACEPARENT
from evalward.server.requests.validate_request import RequestReader
from evalward.server.transport.caller_identity import CallerIdentityReader, not_permitted
from evalward.server.transport.error_messages import code_message
from evalward.server.transport.in_flight import InFlight
from evalward.server.transport.responses import (
    batch_response,
    call_response,
    evaluate_response,
    prepare_response,
    report_response,
    stats_response,
    stream_response,
    validate_response,
)
from evalward.server.transport.rpc_call import (
    RpcCall,
    abort_for_infrastructure,
    remaining_seconds,
    sending_handler,
)
from evalward.server.transport.streams import Stream
from evalward.v1 import evalward_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from evalward.errors.stats import ErrorStats
    from evalward.server.decide.active_policy import ActivePolicy
    from evalward.server.decide.decisions import Decision
    from evalward.server.transport.pending_requests import PendingRequests
    from evalward.server.transport.streams import Streams

SERVICE_NAME = pb.DESCRIPTOR.services_by_name["GuardService"].full_name
ERROR_CODES_SCHEMA = 1

LOG = logging.getLogger("evalward.server")


class GuardService:
    """The handlers of one server. ``in_flight`` counts the requests that draining waits for.

    Setting ``active_policy`` changes the policy of all later requests. A request in flight ends under the policy
    that it began with.
    """

    def __init__(
        self,
        active_policy: ActivePolicy,
        *,
        streams: Streams,
        stats: ErrorStats | None = None,
        observers: Observers | None = None,
        callers: CallerIdentityReader | None = None,
    ) -> None:
        self.active_policy = active_policy
        self._stats = stats
        self._observers = observers or Observers()
        self._callers = callers or CallerIdentityReader(certificates=False, tokens=False)
        self._streams = streams
        rows = sorted(REGISTRY.values(), key=lambda row: row.number)
        self._codes = pb.ListErrorCodesResponse(
            schema_version=ERROR_CODES_SCHEMA,
            codes=[code_message(row) for row in rows],
        )
        self.in_flight = InFlight()

    def handler(self, pending_requests: PendingRequests) -> grpc.GenericRpcHandler[Any, Any]:
        """Return the handler to add to a server. Requests arrive as undecoded bytes (see ``requests``).

        Empty requests are never decoded: gRPC would answer INTERNAL without an Evalward code if decoding failed.
        """
        handlers = {
            "Validate": pending_requests.unary(
                self.validate,
                response_serializer=pb.ValidateResponse.SerializeToString,
            ),
            "ValidateCall": pending_requests.unary(
                self.validate_call,
                response_serializer=pb.ValidateCallResponse.SerializeToString,
            ),
            "ValidateBatch": pending_requests.unary(
                self.validate_batch,
                response_serializer=pb.ValidateBatchResponse.SerializeToString,
            ),
            "ValidateStream": grpc.stream_stream_rpc_method_handler(
                sending_handler(self.validate_stream),
                response_serializer=pb.ValidateStreamResponse.SerializeToString,
            ),
            "Evaluate": pending_requests.unary(
                self.evaluate,
                response_serializer=pb.EvaluateResponse.SerializeToString,
            ),
            "ReportDenial": pending_requests.unary(
                self.report_denial,
                response_serializer=pb.ReportDenialResponse.SerializeToString,
            ),
            "PrepareRuntime": pending_requests.unary(
                self.prepare_runtime,
                response_serializer=pb.PrepareRuntimeResponse.SerializeToString,
            ),
            "ListErrorCodes": pending_requests.unary(
                self._metadata_rpc("ListErrorCodes", lambda: self._codes),
                response_serializer=pb.ListErrorCodesResponse.SerializeToString,
            ),
            "GetPolicy": pending_requests.unary(
                self._metadata_rpc("GetPolicy", lambda: self.active_policy.reply),
                response_serializer=pb.GetPolicyResponse.SerializeToString,
            ),
        }
        if (stats := self._stats) is not None:
            handlers["GetErrorStats"] = pending_requests.unary(
                self._metadata_rpc("GetErrorStats", lambda: stats_response(stats)),
                response_serializer=pb.GetErrorStatsResponse.SerializeToString,
            )
        return grpc.method_handlers_generic_handler(SERVICE_NAME, handlers)

    def validate(self, wire: bytes, context: grpc.ServicerContext) -> pb.ValidateResponse:
        """Judge one payload; a domain failure is an outcome, an infrastructure failure a rich status."""
        return validate_response(
            self._decide("Validate", wire, context, lambda: self.active_policy.decider.decide)
        )

    def validate_call(self, wire: bytes, context: grpc.ServicerContext) -> pb.ValidateCallResponse:
        """Judge one tool call; failures are reported as in ``validate``."""
        call = self.admit("ValidateCall", context)
        with self.in_flight:
            decided = self.active_policy.calls.decide(
                wire,
                remaining=remaining_seconds(context),
                stopping=self.in_flight.stopping,
                caller=call.caller,
            )
        self.finish(call, [decided.decision])
        abort_for_infrastructure(decided.decision, context)
        return call_response(decided)

    def validate_batch(self, wire: bytes, context: grpc.ServicerContext) -> pb.ValidateBatchResponse:
        """Judge many payloads; any failure of an item is the outcome of that item."""
        call = self.admit("ValidateBatch", context)
        with self.in_flight:
            batch = self.active_policy.batches.decide(
                wire,
                remaining=remaining_seconds(context),
                stopping=self.in_flight.stopping,
                caller=call.caller,
            )
        decisions = [item.decision for item in batch.items if item.decision is not None]
        if batch.items:
            self.finish(call, decisions)
        else:
            self.finish(call, [batch.decision], times=max(1, batch.item_count))
        if not batch.items:
            abort_for_infrastructure(batch.decision, context)
        return batch_response(batch)

    def validate_stream(
        self, wires: Iterator[bytes], context: grpc.ServicerContext, send: Callable[[Any], None]
    ) -> None:
        """Judge items as they arrive and ``send`` each result; draining waits only while an item is being judged."""
        call = self.admit("ValidateStream", context)
        stream = Stream(context, send, call.caller.requester)
        try:
            self._streams.enter(stream, lambda refusal: self._refused(call, refusal).envelope)
        except CodedError as full:
            abort_for_infrastructure(self._refused(call, full), context)
        try:
            for item in self.active_policy.batches.stream(
                self._one_by_one(wires, call, stream),
                latest=lambda: self.active_policy.batches,
                remaining=lambda: remaining_seconds(context),
                stopping=lambda: self.in_flight.stopping,
                caller=call.caller,
            ):
                self.finish(call, [] if item.decision is None else [item.decision])
                stream.sends(stream_response(item))
                if not context.is_active():
                    return
        except grpc.RpcError:
            # A call that already has a status must not get another.
            if not stream.is_ended:
                raise
        finally:
            self._streams.leave(stream)
        stream.close()

    def _refused(self, call: RpcCall, refusal: CodedError) -> Decision:
        """Return the recorded and counted rejection of a call from which nothing is judged."""
        decision = self.active_policy.decider.refused(
            RequestContext(RequestReader(b""), caller=call.caller), refusal
        )
        self.finish(call, [decision])
        return decision

    def _one_by_one(self, wires: Iterator[bytes], call: RpcCall, stream: Stream) -> Iterator[bytes]:
        """Yield ``wires``; each counts as in flight until the next one is requested."""
        for wire in wires:
            if not stream.judges():
                return
            call.started = time.perf_counter()
            try:
                with self.in_flight:
                    yield wire
            finally:
                stream.waits()

    def evaluate(self, wire: bytes, context: grpc.ServicerContext) -> pb.EvaluateResponse:
        """Judge one payload for the sandbox and run it there; failures are reported as in ``validate``."""
        return evaluate_response(
            self._decide("Evaluate", wire, context, lambda: self.active_policy.evaluator().evaluate)
        )

    def report_denial(self, wire: bytes, context: grpc.ServicerContext) -> pb.ReportDenialResponse:
        """Record what a hardened program was denied while it ran; failures are reported as in ``validate``."""
        return report_response(
            self._decide("ReportDenial", wire, context, lambda: self.active_policy.reports.decide)
        )

    def prepare_runtime(self, wire: bytes, context: grpc.ServicerContext) -> pb.PrepareRuntimeResponse:
        """Return what prepares a page; failures are reported as in ``validate``."""
        call = self.admit("PrepareRuntime", context)
        with self.in_flight:
            made = self.active_policy.preparer.decide(
                wire,
                remaining=remaining_seconds(context),
                stopping=self.in_flight.stopping,
                caller=call.caller,
            )
        # Nothing is judged, so that an answer counts as no ALLOW.
        self.finish(call, [] if made.prepared else [made.decision])
        abort_for_infrastructure(made.decision, context)
        return prepare_response(made)

    def refuse_unread(self, context: grpc.ServicerContext, most: int) -> None:
        """Reject a call whose request has not been read, since ``most`` other requests are still incomplete."""
        refusal = self._refused(self.admit(UNREAD, context), overloaded(UNREAD, most))
        abort_for_infrastructure(refusal, context)

    def _metadata_rpc(
        self, rpc: str, message: Callable[[], Any]
    ) -> Callable[[bytes, grpc.ServicerContext], Any]:
        """Return a handler that sends ``message()``, to callers with permission to request verdicts only.

        The policy discloses what passes, so it is as protected as a verdict.
        """

        def handler(_wire: bytes, context: grpc.ServicerContext) -> Any:
            self.admit(rpc, context)
            return message()

        return handler

    @property
    def streams(self) -> int:
        """The number of open streams."""
        return len(self._streams)

    def _decide(
        self,
        rpc: str,
        wire: bytes,
        context: grpc.ServicerContext,
        decider: Callable[[], Callable[..., Decision]],
    ) -> Decision:
        """Decide one request with what ``decider`` gives, which is asked once the caller is permitted."""
        call = self.admit(rpc, context)
        with self.in_flight:
            decision = decider()(
                wire,
                remaining=remaining_seconds(context),
                stopping=self.in_flight.stopping,
                caller=call.caller,
            )
        self.finish(call, [decision])
        abort_for_infrastructure(decision, context)
        return decision

    def finish(self, call: RpcCall, decisions: Sequence[Decision], *, times: int = 1) -> None:
        """Count the decisions of ``call`` and notify the observers; each decision stands for ``times`` payloads."""
        if self._stats is not None:
            for decision in decisions:
                if decision.code is not None:
                    self._stats.count(decision.code, times)
        self._observers.finished(call.rpc, decisions, call.started, call.caller, times=times)

    def admit(self, rpc: str, context: grpc.ServicerContext) -> RpcCall:
        """Return the call of a caller with permission; end that of another one."""
        caller = self._callers.read(context)
        if caller.trace is not None:
            # Initial metadata is sent with a response and with a status.
            context.send_initial_metadata(((TRACEPARENT, str(caller.trace)),))
        call = RpcCall(rpc, caller)
        if not self._callers.permits(context):
            refusal = self.active_policy.decider.refused(
                RequestContext(RequestReader(b""), caller=caller), not_permitted()
            )
            self.finish(call, [refusal])
            abort_for_infrastructure(refusal, context)
        return call
