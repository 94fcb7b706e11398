"""The gRPC face of the service: what is an outcome, what is a status, and which RPCs there are.

Only what is built is registered; gRPC itself answers UNIMPLEMENTED for the rest of ``evalward.v1``.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Any, cast

import grpc

from evalward.errors import REGISTRY, Code, CodedError
from evalward.errors.stats import by_domain
from evalward.server.arrivals import UNREAD
from evalward.server.caller import TRACEPARENT, CallerReader
from evalward.server.case import Case
from evalward.server.observer import Observers
from evalward.server.requests import Reading
from evalward.server.responses import (
    batch_response,
    call_response,
    evaluate_response,
    stream_response,
    validate_response,
)
from evalward.server.room import overloaded
from evalward.server.status import rich_status
from evalward.server.streams import Stream
from evalward.server.wire import code_message
from evalward.v1 import evalward_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from evalward.errors.stats import ErrorStats
    from evalward.server.answers import Answer
    from evalward.server.arrivals import Arrivals
    from evalward.server.caller import Caller
    from evalward.server.in_force import InForce
    from evalward.server.streams import Streams

SERVICE_NAME = pb.DESCRIPTOR.services_by_name["GuardService"].full_name
ERROR_CODES_SCHEMA = 1

LOG = logging.getLogger("evalward.server")


class _Call:
    """One call, or the item of a stream that is being judged: ``started`` as in ``Finished``."""

    __slots__ = ("caller", "rpc", "started")

    def __init__(self, rpc: str, caller: Caller) -> None:
        self.rpc = rpc
        self.caller = caller
        self.started = time.perf_counter()


class GuardService:
    """Handlers of the RPCs that are built, and the count of requests in flight that draining waits for.

    Whoever sets ``in_force`` changes the policy of the requests that come from then on; one that is in flight
    ends under the policy that it began with.
    """

    def __init__(
        self,
        in_force: InForce,
        *,
        streams: Streams,
        stats: ErrorStats | None = None,
        observers: Observers | None = None,
        callers: CallerReader | None = None,
    ) -> None:
        self.in_force = in_force
        self._stats = stats
        self._observers = observers or Observers()
        self._callers = callers or CallerReader(certificates=False, tokens=False)
        self._streams = streams
        rows = sorted(REGISTRY.values(), key=lambda row: row.number)
        self._codes = pb.ListErrorCodesResponse(
            schema_version=ERROR_CODES_SCHEMA,
            codes=[code_message(row) for row in rows],
        )
        self._stopping = False
        self._in_flight = 0
        self._lock = threading.Lock()
        self._idle = threading.Condition(self._lock)

    def handler(self, arrivals: Arrivals) -> grpc.GenericRpcHandler[Any, Any]:
        """Return the handler to add to a server. Payloads come as bytes (see ``requests``).

        What asks for nothing in particular is not decoded: gRPC answers INTERNAL, without a code, where that fails.
        """
        handlers = {
            "Validate": arrivals.unary(
                self.validate,
                response_serializer=pb.ValidateResponse.SerializeToString,
            ),
            "ValidateCall": arrivals.unary(
                self.validate_call,
                response_serializer=pb.ValidateCallResponse.SerializeToString,
            ),
            "ValidateBatch": arrivals.unary(
                self.validate_batch,
                response_serializer=pb.ValidateBatchResponse.SerializeToString,
            ),
            "ValidateStream": grpc.stream_stream_rpc_method_handler(
                _sending(self.validate_stream),
                response_serializer=pb.ValidateStreamResponse.SerializeToString,
            ),
            "Evaluate": arrivals.unary(
                self.evaluate,
                response_serializer=pb.EvaluateResponse.SerializeToString,
            ),
            "ListErrorCodes": arrivals.unary(
                self._told("ListErrorCodes", lambda: self._codes),
                response_serializer=pb.ListErrorCodesResponse.SerializeToString,
            ),
            "GetPolicy": arrivals.unary(
                self._told("GetPolicy", lambda: self.in_force.reply),
                response_serializer=pb.GetPolicyResponse.SerializeToString,
            ),
        }
        if self._stats is not None:
            handlers["GetErrorStats"] = arrivals.unary(
                self._told("GetErrorStats", self.error_stats),
                response_serializer=pb.GetErrorStatsResponse.SerializeToString,
            )
        return grpc.method_handlers_generic_handler(SERVICE_NAME, handlers)

    def validate(self, wire: bytes, context: grpc.ServicerContext) -> pb.ValidateResponse:
        """Judge one payload; a domain failure is an outcome, an infrastructure failure a rich status."""
        call = self._enter("Validate", context)
        try:
            answer = self.in_force.decider.decide(
                wire, remaining=_remaining(context), stopping=self._stopping, caller=call.caller
            )
        finally:
            self._leave()
        self._finish(call, [answer])
        _abort_for_infrastructure(answer, context)
        return validate_response(answer)

    def validate_call(self, wire: bytes, context: grpc.ServicerContext) -> pb.ValidateCallResponse:
        """Judge one tool call; failures travel as those of ``validate``."""
        call = self._enter("ValidateCall", context)
        try:
            decided = self.in_force.calls.decide(
                wire, remaining=_remaining(context), stopping=self._stopping, caller=call.caller
            )
        finally:
            self._leave()
        self._finish(call, [decided.answer])
        _abort_for_infrastructure(decided.answer, context)
        return call_response(decided)

    def validate_batch(self, wire: bytes, context: grpc.ServicerContext) -> pb.ValidateBatchResponse:
        """Judge many payloads; a failure of one item, whatever it is, is that item's outcome."""
        call = self._enter("ValidateBatch", context)
        try:
            batch = self.in_force.batches.decide(
                wire, remaining=_remaining(context), stopping=self._stopping, caller=call.caller
            )
        finally:
            self._leave()
        answers = [item.answer for item in batch.items if item.answer is not None]
        if batch.items:
            self._finish(call, answers)
        else:
            self._finish(call, [batch.answer], times=max(1, batch.item_count))
        if not batch.items:
            _abort_for_infrastructure(batch.answer, context)
        return batch_response(batch)

    def validate_stream(
        self, wires: Iterator[bytes], context: grpc.ServicerContext, send: Callable[[Any], None]
    ) -> None:
        """Judge payloads as they come, and ``send`` what becomes of each; it holds up draining while it is judged."""
        call = self._call("ValidateStream", context)
        stream = Stream(context, send, call.caller.asker)
        try:
            self._streams.enter(stream, lambda refusal: self._refused(call, refusal).envelope)
        except CodedError as full:
            _abort_for_infrastructure(self._refused(call, full), context)
        try:
            for item in self.in_force.batches.stream(
                self._one_by_one(wires, call, stream),
                latest=lambda: self.in_force.batches,
                remaining=lambda: _remaining(context),
                stopping=lambda: self._stopping,
                caller=call.caller,
            ):
                self._finish(call, [] if item.answer is None else [item.answer])
                stream.sends(stream_response(item))
                if not context.is_active():
                    return
        except grpc.RpcError:
            # A call that has its status must not get another.
            if not stream.is_ended:
                raise
        finally:
            self._streams.leave(stream)
        stream.close()

    def _refused(self, call: _Call, refusal: CodedError) -> Answer:
        """Return the answer to a call of which nothing is judged, recorded and counted."""
        answer = self.in_force.decider.refused(Case(Reading(b""), caller=call.caller), refusal)
        self._finish(call, [answer])
        return answer

    def _one_by_one(self, wires: Iterator[bytes], call: _Call, stream: Stream) -> Iterator[bytes]:
        """Yield ``wires``, counted as in flight until the next one is asked for."""
        for wire in wires:
            if not stream.judges():
                return
            call.started = time.perf_counter()
            with self._lock:
                self._in_flight += 1
            try:
                yield wire
            finally:
                self._leave()
                stream.waits()

    def evaluate(self, wire: bytes, context: grpc.ServicerContext) -> pb.EvaluateResponse:
        """Judge one payload for the sandbox and run it there; failures travel as those of ``validate``."""
        call = self._enter("Evaluate", context)
        try:
            answer = self.in_force.evaluator().evaluate(
                wire, remaining=_remaining(context), stopping=self._stopping, caller=call.caller
            )
        finally:
            self._leave()
        self._finish(call, [answer])
        _abort_for_infrastructure(answer, context)
        return evaluate_response(answer)

    def no_room(self, context: grpc.ServicerContext, most: int) -> None:
        """Refuse a call of which nothing has been read: ``most`` others are being waited for."""
        refusal = self._refused(self._call(UNREAD, context), overloaded(UNREAD, most))
        _abort_for_infrastructure(refusal, context)

    def _told(self, rpc: str, answer: Callable[[], Any]) -> Callable[[bytes, grpc.ServicerContext], Any]:
        """Return the handler that gives ``answer`` to who may ask for verdicts: a policy says what passes."""

        def handler(_wire: bytes, context: grpc.ServicerContext) -> Any:
            self._call(rpc, context)
            return answer()

        return handler

    def error_stats(self) -> pb.GetErrorStatsResponse:
        """Return the counts of failures; registered only when the operator opted in."""
        stats = cast("ErrorStats", self._stats)
        counts = stats.by_code()
        return pb.GetErrorStatsResponse(
            total=sum(counts.values()),
            by_code={REGISTRY[code].number: number for code, number in counts.items()},
            by_domain=by_domain(counts),
            by_symbol={code.value: number for code, number in counts.items()},
            sampling=stats.sampling,
        )

    @property
    def streams(self) -> int:
        """How many streams are open."""
        return len(self._streams)

    def _finish(self, call: _Call, answers: Sequence[Answer], *, times: int = 1) -> None:
        """Count what ``call`` was answered with, and tell who watches; each answer is that of ``times`` payloads."""
        if self._stats is not None:
            for answer in answers:
                if answer.code is not None:
                    self._stats.count(answer.code, times)
        self._observers.finished(call.rpc, answers, call.started, call.caller, times=times)

    def refuse_new(self) -> None:
        """Answer SHUTTING_DOWN from now on."""
        self._stopping = True

    def drain(self, seconds: float) -> bool:
        """Wait for the requests in flight; False when the time ran out."""
        with self._idle:
            return self._idle.wait_for(lambda: self._in_flight == 0, timeout=seconds)

    def _enter(self, rpc: str, context: grpc.ServicerContext) -> _Call:
        call = self._call(rpc, context)
        with self._lock:
            self._in_flight += 1
        return call

    def _call(self, rpc: str, context: grpc.ServicerContext) -> _Call:
        caller = self._callers.read(context)
        if caller.trace is not None:
            # Initial metadata comes with an answer and with a status alike.
            context.send_initial_metadata(((TRACEPARENT, str(caller.trace)),))
        call = _Call(rpc, caller)
        if not self._callers.permits(context):
            refusal = self.in_force.decider.refused(Case(Reading(b""), caller=caller), _not_permitted())
            self._finish(call, [refusal])
            _abort_for_infrastructure(refusal, context)
        return call

    def _leave(self) -> None:
        with self._lock:
            self._in_flight -= 1
            if self._stopping:
                self._idle.notify_all()


def _sending(
    behavior: Callable[[Any, grpc.ServicerContext, Callable[[Any], None]], None],
) -> Callable[..., Any]:
    """Return ``behavior`` as a handler that sends by itself, so that a stream can be ended while it waits."""

    def handler(requests: Any, context: grpc.ServicerContext, send: Callable[[Any], None]) -> None:
        behavior(requests, context, send)

    # The attribute by which grpcio hands over the means to send; a bound method cannot bear it.
    handler.experimental_non_blocking = True  # type: ignore[attr-defined]
    return handler


def _not_permitted() -> CodedError:
    return CodedError(
        Code.PERMISSION_DENIED,
        "The client's certificate is valid, and its name is none of those that may ask.",
    )


def _remaining(context: grpc.ServicerContext) -> float | None:
    """Return the caller's time in seconds; gRPC gives one without a deadline more than a lock can count."""
    remaining = context.time_remaining()
    return None if remaining is None or remaining > threading.TIMEOUT_MAX else remaining


def _abort_for_infrastructure(answer: Answer, context: grpc.ServicerContext) -> None:
    if answer.code is not None and REGISTRY[answer.code].is_infrastructure:
        context.abort_with_status(rich_status(answer.envelope))
