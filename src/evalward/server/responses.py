"""Answers as the messages of the protocol: each carries its canonical envelope beside the typed fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evalward.server.batch import Status
from evalward.server.wire import evaluated_message, typed_error, usage_message
from evalward.v1 import evalward_pb2 as pb

if TYPE_CHECKING:
    from evalward.server.answers import Answer
    from evalward.server.batch import BatchAnswer, Item
    from evalward.server.call import CallAnswer

_ALLOWED: Final = pb.Allowed()


def evaluate_response(answer: Answer) -> pb.EvaluateResponse:
    """Return the answer of Evaluate, with what a run used."""
    response = pb.EvaluateResponse(binding=answer.binding, envelope=answer.canonical)
    evaluation = answer.evaluation
    if evaluation is not None:
        response.usage.CopyFrom(usage_message(evaluation, answer.run_us))
    if answer.code is None and evaluation is not None:
        response.allowed.CopyFrom(evaluated_message(evaluation))
    elif answer.code is not None:
        response.error.CopyFrom(typed_error(answer.envelope))
    return response


def call_response(call: CallAnswer) -> pb.ValidateCallResponse:
    """Return the answer of ValidateCall."""
    answer = call.answer
    response = pb.ValidateCallResponse(
        binding=answer.binding,
        tool=call.tool,
        fields=[
            pb.JudgedField(path=each.path, sha256=each.sha256, kind=each.kind, sink=each.sink)
            for each in call.fields
        ],
        envelope=answer.canonical,
        failed_path=call.failed_path,
    )
    if answer.code is None:
        response.allowed.CopyFrom(pb.Allowed(would_block=answer.would_block))
    else:
        response.error.CopyFrom(typed_error(answer.envelope))
    return response


def validate_response(answer: Answer) -> pb.ValidateResponse:
    """Return the answer of Validate."""
    if answer.code is None:
        allowed = pb.Allowed(would_block=answer.would_block) if answer.would_block else _ALLOWED
        return pb.ValidateResponse(binding=answer.binding, allowed=allowed, envelope=answer.canonical)
    error = typed_error(answer.envelope)
    return pb.ValidateResponse(binding=answer.binding, error=error, envelope=answer.canonical)


def batch_response(batch: BatchAnswer) -> pb.ValidateBatchResponse:
    """Return the answer of ValidateBatch: failed and skipped items are listed, every judged one is bound."""
    answer = batch.answer
    response = pb.ValidateBatchResponse(
        item_count=batch.item_count,
        failures=[_failure(item) for item in batch.items if item.status is not Status.ALLOWED],
        bindings=[item.answer.binding for item in batch.items if item.answer is not None],
        envelope=answer.canonical,
    )
    if answer.code is None:
        response.allowed.CopyFrom(pb.Allowed(would_block=answer.would_block))
    else:
        response.error.CopyFrom(typed_error(answer.envelope))
    return response


def stream_response(item: Item) -> pb.ValidateStreamResponse:
    """Return the answer to one item of a stream; that of a skipped one has neither binding nor outcome."""
    response = pb.ValidateStreamResponse(item_index=item.place, status=_status(item))
    if item.answer is None:
        return response
    single = validate_response(item.answer)
    response.binding.CopyFrom(single.binding)
    response.envelope = single.envelope
    if item.status is Status.ALLOWED and single.WhichOneof("outcome") == "allowed":
        response.allowed.CopyFrom(single.allowed)
    else:
        response.error.CopyFrom(single.error)
    return response


def _failure(item: Item) -> pb.BatchItemFailure:
    failure = pb.BatchItemFailure(item_index=item.place, status=_status(item))
    if item.answer is not None:
        failure.error.CopyFrom(typed_error(item.answer.envelope))
        failure.envelope = item.answer.canonical
    return failure


def _status(item: Item) -> pb.ItemStatus.ValueType:
    return pb.ItemStatus.ValueType(item.status)
