"""A verdict counts only for the requested sink; ``guarded()`` takes a sink or a shape."""

from collections.abc import Callable
from typing import Any

import grpc
import pytest
from fake_guard import CODE, Requester, assert_denied, is_allowed, true_allow

from evalward.client import GuardClient, guarded
from evalward.v1 import evalward_pb2 as pb

SINK = "playwright.evaluate"
QUESTION = ("validate", (CODE,), {"sink": SINK})


def as_asked(request: Any) -> Any:
    reply = true_allow(request)
    reply.binding.sink = getattr(request, "sink", "")
    return reply


def other_sink(reply: pb.ValidateResponse) -> None:
    reply.binding.sink = "puppeteer.evaluate"


def no_sink(reply: pb.ValidateResponse) -> None:
    reply.binding.sink = ""


def no_target(reply: pb.ValidateResponse) -> None:
    reply.binding.target = pb.TARGET_UNSPECIFIED


def a_shape(reply: pb.ValidateResponse) -> None:
    reply.binding.shape = pb.SHAPE_SCRIPT


def test_the_sink_is_asked_about_and_its_target_is_the_service_s(
    serve_fake: Callable[..., str], requester: Requester
) -> None:
    asked = []

    def answer(request: pb.ValidateRequest, _: grpc.ServicerContext) -> Any:
        asked.append(request)
        return as_asked(request)

    (decision,) = requester(serve_fake(answer), QUESTION, timeout=10)

    assert is_allowed(decision)
    assert [(each.sink, each.target, each.HasField("shape")) for each in asked] == [(SINK, 0, False)]


@pytest.mark.parametrize("lie", [other_sink, no_sink, no_target, a_shape])
def test_a_verdict_about_another_sink_is_a_denial(
    serve_fake: Callable[..., str], requester: Requester, lie: Callable[[pb.ValidateResponse], None]
) -> None:
    def answer(request: pb.ValidateRequest, _: grpc.ServicerContext) -> Any:
        reply = as_asked(request)
        lie(reply)
        return reply

    (decision,) = requester(serve_fake(answer), QUESTION, timeout=10)

    assert_denied(decision, "the verdict")


def test_a_verdict_about_a_sink_is_none_about_a_shape(
    serve_fake: Callable[..., str], requester: Requester
) -> None:
    def answer(request: pb.ValidateRequest, _: grpc.ServicerContext) -> Any:
        reply = as_asked(request)
        reply.binding.sink = SINK
        return reply

    question = ("validate", (CODE,), {"target": "renderer", "shape": "function"})
    (decision,) = requester(serve_fake(answer), question, timeout=10)

    assert_denied(decision, "another sink")


def test_a_call_is_about_the_sink_that_the_caller_runs(
    serve_fake: Callable[..., str], requester: Requester
) -> None:
    question = ("validate_call", ("eval_page", b'{"code":"1","nested":["2"]}'), {"sink": SINK})

    def answer(request: Any, _: grpc.ServicerContext) -> Any:
        reply = true_allow(request)
        del reply.fields[:]
        return reply

    (decision,) = requester(serve_fake(answer), question, timeout=10)

    assert_denied(decision, "another sink")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"target": "renderer"},
        {"shape": "function"},
        {"sink": SINK, "shape": "script"},
        {"sink": SINK, "wrap": True},
    ],
)
def test_guarded_needs_a_sink_or_a_target_and_a_shape(options: dict[str, Any]) -> None:
    with GuardClient("127.0.0.1:1") as guard, pytest.raises(TypeError, match=r"sink"):
        guarded(str, guard, **options)
