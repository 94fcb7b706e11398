"""OpenTelemetry spans for ``evalward[otel]``: one span per call, in the caller's trace, with its decision.

The span is created after the response, from times that are measured anyway, so that it adds nothing to the call. It
contains what the audit log contains and nothing more: no payload, argument or result.
"""

from __future__ import annotations

import time
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)

from evalward.errors import REGISTRY
from evalward.server.observe.observer import label_of
from evalward.server.observe.otel_resource import own_resource
from evalward.v1 import evalward_pb2 as pb

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import SpanProcessor

    from evalward.errors import Code
    from evalward.server.decide.decisions import Decision
    from evalward.server.observe.observer import Finished
    from evalward.server.requests.caller import Trace

_SERVICE: Final = pb.DESCRIPTOR.services_by_name["GuardService"].full_name
_CLOSE_MS: Final = 2_000


class Traces:
    """Creates spans and passes them to ``processor``; call ``close`` once, at the end.

    Sampling follows the caller's flags, and otherwise OTEL_TRACES_SAMPLER.
    """

    def __init__(self, processor: SpanProcessor) -> None:
        self._provider = TracerProvider(resource=own_resource(), shutdown_on_exit=False)
        self._provider.add_span_processor(processor)
        self._tracer = self._provider.get_tracer("evalward", version("evalward"))

    def finished(self, call: Finished) -> None:
        """Create the span of ``call``."""
        end = time.time_ns() - int((time.perf_counter() - call.ended) * 1e9)
        span = self._tracer.start_span(
            f"{_SERVICE}/{call.rpc}",
            context=_remote(call.caller.trace),
            kind=SpanKind.SERVER,
            start_time=end - int((call.ended - call.started) * 1e9),
            attributes={"rpc.system": "grpc", "rpc.service": _SERVICE, "rpc.method": call.rpc},
        )
        if span.is_recording():
            span.set_attributes(_attributes(call))
            faults = [
                each.code for each in call.decisions if each.code and REGISTRY[each.code].is_infrastructure
            ]
            if faults:
                span.set_status(Status(StatusCode.ERROR, faults[0]))
        span.end(end)

    def turned_away(self, code: Code) -> None:
        """Create no span: unauthenticated callers must not add to traces."""

    def close(self) -> None:
        """Flush the remaining spans, for two seconds at most."""
        self._provider.force_flush(_CLOSE_MS)
        self._provider.shutdown()


def exported_traces() -> Traces:
    """Return traces that are exported by OTLP over gRPC, as the OTEL_EXPORTER_OTLP_* variables configure."""
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - not in tests

    return Traces(BatchSpanProcessor(OTLPSpanExporter()))


def _remote(trace: Trace | None) -> Context | None:
    if trace is None:
        return None
    context = SpanContext(
        trace_id=int(trace.trace_id, 16),
        span_id=int(trace.parent_id, 16),
        is_remote=True,
        trace_flags=TraceFlags(int(trace.flags, 16)),
    )
    return set_span_in_context(NonRecordingSpan(context))


def _attributes(call: Finished) -> dict[str, Any]:
    failed = [each for each in call.decisions if each.code is not None]
    attributes: dict[str, Any] = {"evalward.items": len(call.decisions), "evalward.failed": len(failed)}
    if call.caller.principal is not None:
        attributes["evalward.principal"] = call.caller.principal
    if len(call.decisions) == 1:
        attributes |= _of(call.decisions[0])
    elif failed:
        attributes["evalward.code"] = failed[0].code
    return attributes


def _of(decision: Decision) -> dict[str, Any]:
    """Return the span attributes of one decision."""
    details = decision.details
    said = {
        "evalward.decision_id": decision.binding.decision_id,
        "evalward.policy_digest": decision.binding.policy_digest,
        "evalward.code": "OK" if decision.code is None else decision.code.value,
        "evalward.construct": label_of(details.get("construct")),
        "evalward.keyword": details.get("keyword"),
        "evalward.limit": details.get("limit"),
        "evalward.fuel": None if decision.evaluation is None else decision.evaluation.fuel,
    }
    return {name: value for name, value in said.items() if value is not None}
