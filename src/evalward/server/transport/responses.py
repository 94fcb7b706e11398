"""Decisions as response messages: each carries its canonical envelope and the typed fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evalward.errors import REGISTRY
from evalward.errors.stats import by_domain
from evalward.server.decide.batch_decider import Status
from evalward.server.requests.proto_enums import SHAPE_NUMBERS, SHAPES
from evalward.server.transport.error_messages import evaluated_message, typed_error, usage_message
from evalward.v1 import evalward_pb2 as pb

if TYPE_CHECKING:
    from evalward.errors.stats import ErrorStats
    from evalward.guard.target import Shape
    from evalward.guard.verdict import HardenedProgram
    from evalward.server.decide.batch_decider import BatchDecision, Item
    from evalward.server.decide.call_decider import CallDecision
    from evalward.server.decide.decisions import Decision
    from evalward.server.decide.preparer import Preparation

_ALLOWED: Final = pb.Allowed()


def evaluate_response(decision: Decision) -> pb.EvaluateResponse:
    """Return the response of Evaluate, with the usage of a run."""
    response = pb.EvaluateResponse(binding=decision.binding, envelope=decision.canonical)
    evaluation = decision.evaluation
    if evaluation is not None:
        response.usage.CopyFrom(usage_message(evaluation, decision.run_us))
    if decision.code is None and evaluation is not None:
        response.allowed.CopyFrom(evaluated_message(evaluation))
    elif decision.code is not None:
        response.error.CopyFrom(typed_error(decision.envelope))
    return response


def call_response(call: CallDecision) -> pb.ValidateCallResponse:
    """Return the response of ValidateCall."""
    decision = call.decision
    response = pb.ValidateCallResponse(
        binding=decision.binding,
        tool=call.tool,
        fields=[
            pb.JudgedField(
                path=each.path,
                sha256=each.sha256,
                kind=each.kind,
                sink=each.sink,
                hardened=None if each.program is None else _program(each.program, each.shape, each.sink),
            )
            for each in call.fields
        ],
        envelope=decision.canonical,
        failed_path=call.failed_path,
    )
    if decision.code is None:
        response.allowed.CopyFrom(pb.Allowed(would_block=decision.would_block))
    else:
        response.error.CopyFrom(typed_error(decision.envelope))
    return response


def validate_response(decision: Decision) -> pb.ValidateResponse:
    """Return the response of Validate."""
    if decision.code is None:
        allowed = _ALLOWED
        if decision.would_block or decision.program is not None:
            allowed = pb.Allowed(would_block=decision.would_block, hardened=hardened_message(decision))
        return pb.ValidateResponse(binding=decision.binding, allowed=allowed, envelope=decision.canonical)
    error = typed_error(decision.envelope)
    return pb.ValidateResponse(binding=decision.binding, error=error, envelope=decision.canonical)


def hardened_message(decision: Decision) -> pb.Hardened | None:
    """Return the program of an allow, None for one without."""
    binding = decision.binding
    shape = SHAPES[binding.shape] if binding.HasField("shape") else None
    return None if decision.program is None else _program(decision.program, shape, binding.sink)


def _program(program: HardenedProgram, shape: Shape | None, sink: str) -> pb.Hardened:
    return pb.Hardened(
        program=program.text,
        sha256=program.sha256,
        shape=None if shape is None else SHAPE_NUMBERS[shape],
        sink=sink,
        runtime=program.runtime,
    )


def batch_response(batch: BatchDecision) -> pb.ValidateBatchResponse:
    """Return the response of ValidateBatch: failed and skipped items are listed, judged items are bound."""
    decision = batch.decision
    response = pb.ValidateBatchResponse(
        item_count=batch.item_count,
        failures=[_failure(item) for item in batch.items if item.status is not Status.ALLOWED],
        bindings=[item.decision.binding for item in batch.items if item.decision is not None],
        envelope=decision.canonical,
        hardened=[
            pb.BatchItemHardened(item_index=item.place, hardened=hardened_message(item.decision))
            for item in batch.items
            if item.decision is not None and item.decision.program is not None
        ],
    )
    if decision.code is None:
        response.allowed.CopyFrom(pb.Allowed(would_block=decision.would_block))
    else:
        response.error.CopyFrom(typed_error(decision.envelope))
    return response


def stream_response(item: Item) -> pb.ValidateStreamResponse:
    """Return the response to one item of a stream; that of a skipped item has neither binding nor outcome."""
    response = pb.ValidateStreamResponse(item_index=item.place, status=_status(item))
    if item.decision is None:
        return response
    single = validate_response(item.decision)
    response.binding.CopyFrom(single.binding)
    response.envelope = single.envelope
    if item.status is Status.ALLOWED and single.WhichOneof("outcome") == "allowed":
        response.allowed.CopyFrom(single.allowed)
    else:
        response.error.CopyFrom(single.error)
    return response


def report_response(decision: Decision) -> pb.ReportDenialResponse:
    """Return the response of ReportDenial."""
    if decision.code is None:
        return pb.ReportDenialResponse(reported=pb.DenialReported(), envelope=decision.canonical)
    return pb.ReportDenialResponse(error=typed_error(decision.envelope), envelope=decision.canonical)


def prepare_response(made: Preparation) -> pb.PrepareRuntimeResponse:
    """Return the response of PrepareRuntime."""
    decision = made.decision
    if made.prepared is None:
        return pb.PrepareRuntimeResponse(error=typed_error(decision.envelope), envelope=decision.canonical)
    return pb.PrepareRuntimeResponse(
        prepared=pb.PreparedRuntime(**made.prepared._asdict()), envelope=decision.canonical
    )


def _failure(item: Item) -> pb.BatchItemFailure:
    failure = pb.BatchItemFailure(item_index=item.place, status=_status(item))
    if item.decision is not None:
        failure.error.CopyFrom(typed_error(item.decision.envelope))
        failure.envelope = item.decision.canonical
    return failure


def _status(item: Item) -> pb.ItemStatus.ValueType:
    return pb.ItemStatus.ValueType(item.status)


def stats_response(stats: ErrorStats) -> pb.GetErrorStatsResponse:
    """Return the counts of failures."""
    counts = stats.by_code()
    return pb.GetErrorStatsResponse(
        total=sum(counts.values()),
        by_code={REGISTRY[code].number: number for code, number in counts.items()},
        by_domain=by_domain(counts),
        by_symbol={code.value: number for code, number in counts.items()},
        sampling=stats.sampling,
    )
