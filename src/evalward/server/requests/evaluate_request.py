"""Decode and check an EvaluateRequest; an invalid one raises CodedError."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from evalward.errors import Code, CodedError, Range, Repair, pointer
from evalward.guard.target import Shape, Target
from evalward.sandbox import MAX_ARGUMENT, RANGES, EvaluationLimits
from evalward.server.requests.proto_enums import PROFILES, SHAPES
from evalward.server.requests.validate_request import (
    Received,
    RequestReader,
    ValidationRequest,
    hardening_of,
    member,
)
from evalward.v1 import evalward_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Mapping

RUNNABLE: Final = (None, Shape.SCRIPT, Shape.EXPRESSION, Shape.FUNCTION, Shape.ASYNC_BODY)


@dataclass(frozen=True, slots=True)
class EvaluationRequest:
    """One payload to judge and run; ``argument`` is JSON text, empty for none."""

    validation_request: ValidationRequest
    argument: bytes
    limits: EvaluationLimits
    seed: int


class EvaluateReader(RequestReader):
    """An EvaluateRequest during reading; its target is always the sandbox."""

    __slots__ = ()
    target_field = None

    def evaluation(self, own: EvaluationLimits) -> EvaluationRequest:
        """Read the whole request, whose limits may be stricter than ``own``; raise CodedError if it is invalid."""
        message = self.message(pb.EvaluateRequest)
        self.receive(
            Received(message.code, Target.SANDBOX, SHAPES.get(message.shape)),
            session_id=message.session_id,
            request_id=message.request_id,
        )
        shape = member("shape", message.shape, SHAPES) if message.HasField("shape") else None
        if shape not in RUNNABLE:
            raise CodedError(
                Code.UNSUPPORTED_OPTION,
                "The sandbox runs no modules.",
                repair=Repair(field="/shape", allowed=[each for each in RUNNABLE if each is not None]),
            )
        if len(message.argument_json) > MAX_ARGUMENT:
            raise CodedError(
                Code.EVAL_PAYLOAD_TOO_LARGE,
                f"The argument exceeds the limit argument_bytes of {MAX_ARGUMENT}.",
                repair=Repair.passed(
                    "argument_bytes", MAX_ARGUMENT, field="/argument_json", actual=len(message.argument_json)
                ),
            )
        validation_request = ValidationRequest(
            code=message.code,
            target=Target.SANDBOX,
            shape=shape,
            profile=member("profile", message.profile, PROFILES) if message.HasField("profile") else None,
            bindings={},
            limits={field.name: number for field, number in message.guard_limits.ListFields()},
            session_id=message.session_id,
            request_id=message.request_id,
            harden=hardening_of(message.harden),
        )
        wished = {field.name: number for field, number in message.limits.ListFields()}
        return EvaluationRequest(
            validation_request, message.argument_json, stricter(own, wished), message.seed
        )


def stricter(own: EvaluationLimits, wished: Mapping[str, int]) -> EvaluationLimits:
    """Return ``own`` with the smaller limits of a request.

    Raise CodedError: STRICT_CONSTANT_OVERRIDE for a larger limit, INVALID_INPUT for one too small to run with.
    """
    for name, number in wished.items():
        highest, lowest = getattr(own, name), RANGES[name][0]
        if lowest <= number <= highest:
            continue
        repair = Repair(
            field=pointer("limits", name),
            range=Range(lowest, highest),
            limit=name,
            limit_value=highest,
            actual=number,
        )
        if number > highest:
            raise CodedError(
                Code.STRICT_CONSTANT_OVERRIDE,
                f"The service limits {name} to {highest}; a request may only lower it.",
                repair=repair,
            )
        raise CodedError(Code.INVALID_INPUT, f"No payload can run with {name} below {lowest}.", repair=repair)
    return replace(own, **wished)
