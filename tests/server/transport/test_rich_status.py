"""An infrastructure failure as a gRPC status: which details go with which envelope."""

import json

import pytest
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]  # ships no py.typed

from evalward.errors import REGISTRY, Code, Meta, Provenance, Repair, error_envelope
from evalward.server.transport.rich_status import rich_status
from evalward.v1 import evalward_pb2 as pb

META = Meta(1, "d" * 32, Provenance("0", "0" * 64, "0" * 12, "tree-sitter-javascript 0.25.0"), audited=True)
INFRASTRUCTURE = [code for code in Code if REGISTRY[code].is_infrastructure]


def status_of(code: Code, repair: Repair | None = None) -> status_pb2.Status:
    envelope = error_envelope(code, "no", meta=META, repair=repair)
    metadata = dict(rich_status(envelope).trailing_metadata)
    return status_pb2.Status.FromString(metadata["grpc-status-details-bin"])


@pytest.mark.parametrize("code", INFRASTRUCTURE)
def test_reason_retry_and_envelope_come_from_the_registry(code: Code) -> None:
    reason, *retry, attached = status_of(code).details

    info, envelope = error_details_pb2.ErrorInfo(), pb.ErrorEnvelope()
    assert reason.Unpack(info)
    assert attached.Unpack(envelope)
    assert (info.reason, info.domain) == (code, "evalward")
    assert [each.Is(error_details_pb2.RetryInfo.DESCRIPTOR) for each in retry] == [True] * REGISTRY[
        code
    ].retryable
    assert json.loads(envelope.envelope)["code"] == envelope.error.code == code


def test_a_field_that_is_named_is_a_violation() -> None:
    violation = error_details_pb2.BadRequest()

    assert status_of(Code.CONFIG_INVALID, Repair(field="/listen")).details[1].Unpack(violation)
    assert [(each.field, each.description) for each in violation.field_violations] == [("/listen", "no")]


def test_a_domain_failure_is_no_status() -> None:
    with pytest.raises(ValueError, match="domain failure"):
        status_of(Code.EVAL_BLOCKED_CONSTRUCT)
