"""The gRPC face of the service: what is an outcome, what is a status, and which RPCs there are.

Only what is built is registered; gRPC itself answers UNIMPLEMENTED for the rest of ``evalward.v1``.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any

import grpc

from evalward.errors import REGISTRY, canonical_json
from evalward.errors.canonical import canonical_text
from evalward.server.status import rich_status
from evalward.server.wire import TARGET_NUMBERS, code_message, evaluated_message, typed_error, usage_message
from evalward.v1 import evalward_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Callable

    from evalward.errors import Provenance
    from evalward.policy import Policy
    from evalward.server.call import CallAnswer, CallDecider
    from evalward.server.decision import Answer, Decider
    from evalward.server.evaluation import Evaluator

SERVICE_NAME = pb.DESCRIPTOR.services_by_name["GuardService"].full_name
ERROR_CODES_SCHEMA = 1

LOG = logging.getLogger("evalward.server")


class GuardService:
    """Handlers of the RPCs that are built, and the count of requests in flight that draining waits for."""

    def __init__(
        self,
        decider: Decider,
        evaluator: Callable[[], Evaluator],
        calls: CallDecider,
        policy: Policy,
        provenance: Provenance,
    ) -> None:
        self._decider = decider
        self._calls = calls
        self._evaluator = evaluator
        self._policy = pb.GetPolicyResponse(
            digest=policy.digest,
            policy_json=canonical_json(policy.effective()),
            allowed_targets=[TARGET_NUMBERS[target] for target in policy.allowed_targets],
            ruleset=provenance.ruleset_digest,
            grammar=provenance.grammar_version,
            service_version=provenance.service_version,
        )
        rows = sorted(REGISTRY.values(), key=lambda row: row.number)
        self._codes = pb.ListErrorCodesResponse(
            schema_version=ERROR_CODES_SCHEMA,
            codes=[code_message(row) for row in rows],
        )
        self._stopping = False
        self._in_flight = 0
        self._lock = threading.Lock()
        self._idle = threading.Condition(self._lock)

    def handler(self) -> grpc.GenericRpcHandler[Any, Any]:
        """Return the handler to add to a server. Payloads come as bytes (see ``requests``)."""
        return grpc.method_handlers_generic_handler(
            SERVICE_NAME,
            {
                "Validate": grpc.unary_unary_rpc_method_handler(
                    self.validate,
                    response_serializer=pb.ValidateResponse.SerializeToString,
                ),
                "ValidateCall": grpc.unary_unary_rpc_method_handler(
                    self.validate_call,
                    response_serializer=pb.ValidateCallResponse.SerializeToString,
                ),
                "Evaluate": grpc.unary_unary_rpc_method_handler(
                    self.evaluate,
                    response_serializer=pb.EvaluateResponse.SerializeToString,
                ),
                "ListErrorCodes": grpc.unary_unary_rpc_method_handler(
                    lambda _request, _context: self._codes,
                    request_deserializer=pb.ListErrorCodesRequest.FromString,
                    response_serializer=pb.ListErrorCodesResponse.SerializeToString,
                ),
                "GetPolicy": grpc.unary_unary_rpc_method_handler(
                    lambda _request, _context: self._policy,
                    request_deserializer=pb.GetPolicyRequest.FromString,
                    response_serializer=pb.GetPolicyResponse.SerializeToString,
                ),
            },
        )

    def validate(self, wire: bytes, context: grpc.ServicerContext) -> pb.ValidateResponse:
        """Judge one payload; a domain failure is an outcome, an infrastructure failure a rich status."""
        self._enter()
        try:
            answer = self._decider.decide(wire, remaining=_remaining(context), stopping=self._stopping)
        finally:
            self._leave()
        _abort_for_infrastructure(answer, context)
        return _response(answer)

    def validate_call(self, wire: bytes, context: grpc.ServicerContext) -> pb.ValidateCallResponse:
        """Judge one tool call; failures travel as those of ``validate``."""
        self._enter()
        try:
            call = self._calls.decide(wire, remaining=_remaining(context), stopping=self._stopping)
        finally:
            self._leave()
        _abort_for_infrastructure(call.answer, context)
        return _call_response(call)

    def evaluate(self, wire: bytes, context: grpc.ServicerContext) -> pb.EvaluateResponse:
        """Judge one payload for the sandbox and run it there; failures travel as those of ``validate``."""
        self._enter()
        try:
            answer = self._evaluator().evaluate(wire, remaining=_remaining(context), stopping=self._stopping)
        finally:
            self._leave()
        _abort_for_infrastructure(answer, context)
        return _evaluate_response(answer)

    def refuse_new(self) -> None:
        """Answer SHUTTING_DOWN from now on."""
        self._stopping = True

    def drain(self, seconds: float) -> bool:
        """Wait for the requests in flight; False when the time ran out."""
        with self._idle:
            return self._idle.wait_for(lambda: self._in_flight == 0, timeout=seconds)

    def _enter(self) -> None:
        with self._lock:
            self._in_flight += 1

    def _leave(self) -> None:
        with self._lock:
            self._in_flight -= 1
            if self._stopping:
                self._idle.notify_all()


def _remaining(context: grpc.ServicerContext) -> float | None:
    """Return the caller's time in seconds; gRPC gives one without a deadline more than a lock can count."""
    remaining = context.time_remaining()
    return None if remaining is None or remaining > threading.TIMEOUT_MAX else remaining


def _abort_for_infrastructure(answer: Answer, context: grpc.ServicerContext) -> None:
    if answer.code is not None and REGISTRY[answer.code].is_infrastructure:
        context.abort_with_status(rich_status(answer.envelope))


def _evaluate_response(answer: Answer) -> pb.EvaluateResponse:
    response = pb.EvaluateResponse(binding=answer.binding, envelope=canonical_text(answer.envelope).encode())
    evaluation = answer.evaluation
    if evaluation is not None:
        response.usage.CopyFrom(usage_message(evaluation, answer.run_us))
    if answer.code is None and evaluation is not None:
        response.allowed.CopyFrom(evaluated_message(evaluation))
    elif answer.code is not None:
        response.error.CopyFrom(typed_error(answer.envelope))
    return response


def _call_response(call: CallAnswer) -> pb.ValidateCallResponse:
    answer = call.answer
    response = pb.ValidateCallResponse(
        binding=answer.binding,
        tool=call.tool,
        fields=[pb.JudgedField(path=each.path, sha256=each.sha256) for each in call.fields],
        envelope=canonical_text(answer.envelope).encode(),
        failed_path=call.failed_path,
    )
    if answer.code is None:
        response.allowed.CopyFrom(pb.Allowed(would_block=answer.would_block))
    else:
        response.error.CopyFrom(typed_error(answer.envelope))
    return response


def _response(answer: Answer) -> pb.ValidateResponse:
    envelope = canonical_text(answer.envelope).encode()
    if answer.code is None:
        allowed = pb.Allowed(would_block=answer.would_block)
        return pb.ValidateResponse(binding=answer.binding, allowed=allowed, envelope=envelope)
    error = typed_error(answer.envelope)
    return pb.ValidateResponse(binding=answer.binding, error=error, envelope=envelope)
