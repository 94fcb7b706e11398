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
from evalward.server.wire import TARGET_NUMBERS, code_message, typed_error
from evalward.v1 import evalward_pb2 as pb

if TYPE_CHECKING:
    from evalward.errors import Provenance
    from evalward.policy import Policy
    from evalward.server.decision import Answer, Decider

SERVICE_NAME = pb.DESCRIPTOR.services_by_name["GuardService"].full_name
ERROR_CODES_SCHEMA = 1

LOG = logging.getLogger("evalward.server")


class GuardService:
    """Handlers of the RPCs that are built, and the count of requests in flight that draining waits for."""

    def __init__(self, decider: Decider, policy: Policy, provenance: Provenance) -> None:
        self._decider = decider
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
        """Return the handler to add to a server. Validate takes its request as bytes (see ``requests``)."""
        return grpc.method_handlers_generic_handler(
            SERVICE_NAME,
            {
                "Validate": grpc.unary_unary_rpc_method_handler(
                    self.validate,
                    response_serializer=pb.ValidateResponse.SerializeToString,
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
        with self._lock:
            self._in_flight += 1
        try:
            answer = self._decider.decide(wire, remaining=context.time_remaining(), stopping=self._stopping)
        finally:
            with self._lock:
                self._in_flight -= 1
                if self._stopping:
                    self._idle.notify_all()
        if answer.code is not None and REGISTRY[answer.code].is_infrastructure:
            context.abort_with_status(rich_status(answer.envelope))
        return _response(answer)

    def refuse_new(self) -> None:
        """Answer SHUTTING_DOWN from now on."""
        self._stopping = True

    def drain(self, seconds: float) -> bool:
        """Wait for the requests in flight; False when the time ran out."""
        with self._idle:
            return self._idle.wait_for(lambda: self._in_flight == 0, timeout=seconds)


def _response(answer: Answer) -> pb.ValidateResponse:
    response = pb.ValidateResponse(binding=answer.binding, envelope=canonical_text(answer.envelope).encode())
    if answer.code is None:
        response.allowed.would_block.extend(answer.would_block)
        response.allowed.SetInParent()
    else:
        response.error.CopyFrom(typed_error(answer.envelope))
    return response
