"""An infrastructure failure as a gRPC rich status (contract.md §3), built from the envelope alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]  # ships no py.typed
from grpc_status import rpc_status

from evalward.errors import REGISTRY, Code, canonical_json
from evalward.server.transport.error_messages import typed_error
from evalward.v1 import evalward_pb2 as pb

if TYPE_CHECKING:
    from google.protobuf.message import Message

ERROR_DOMAIN = "evalward"
RETRY_AFTER_SECONDS = 0.25


def rich_status(envelope: dict[str, Any], *, retry_after: float = RETRY_AFTER_SECONDS) -> grpc.Status:
    """Return the status to abort with; raise ValueError when the envelope's code is a domain failure.

    Its details are ErrorInfo (reason = code), RetryInfo when the code is retryable, BadRequest when the envelope names
    a field, and ErrorEnvelope.
    """
    code = Code(envelope["code"])
    row = REGISTRY[code]
    if row.grpc_status is None:
        raise ValueError(f"{code} is a domain failure and is sent as an outcome")
    details: list[Message] = [
        error_details_pb2.ErrorInfo(
            reason=code,
            domain=ERROR_DOMAIN,
            metadata={"number": str(row.number), "decision_id": envelope["_meta"]["decision_id"]},
        ),
    ]
    if row.retryable:
        delay = Duration()
        delay.FromNanoseconds(int(retry_after * 1e9))
        details.append(error_details_pb2.RetryInfo(retry_delay=delay))
    error = typed_error(envelope)
    if error.field:
        violation = error_details_pb2.BadRequest.FieldViolation(field=error.field, description=error.message)
        details.append(error_details_pb2.BadRequest(field_violations=[violation]))
    details.append(pb.ErrorEnvelope(envelope=canonical_json(envelope), error=error))
    status = status_pb2.Status(
        code=grpc.StatusCode[row.grpc_status].value[0],
        message=f"{code}: {error.message}",
        details=[_packed(detail) for detail in details],
    )
    return rpc_status.to_status(status)


def _packed(message: Message) -> AnyMessage:
    packed = AnyMessage()
    packed.Pack(message)
    return packed
