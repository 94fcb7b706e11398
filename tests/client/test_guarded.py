"""``guarded()``: the sink gets exactly the judged bytes in the judged shape, or is not called."""

import asyncio
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
from fake_guard import true_allow

from evalward.client import (
    AsyncGuardClient,
    EvalDenied,
    GuardClient,
    SinkFailed,
    Triage,
    guarded,
    is_guarded,
)
from evalward.guard.syntax.wrap import WRAPPERS
from evalward.v1 import evalward_pb2 as pb

SECRET = "marker_5d0c77"


class Sink:
    """A sink of either kind behind a guard of its kind; ``ran`` is what it was called with."""

    def __init__(self, kind: str, address: str) -> None:
        self.kind = kind
        self.address = address
        self.ran: list[Any] = []
        self.failure: Exception | None = None

    def run(self, *args: Any, **rest: Any) -> Any:
        self.ran.append((args, rest))
        if self.failure is not None:
            raise self.failure
        return "value"

    async def arun(self, *args: Any, **rest: Any) -> Any:
        return self.run(*args, **rest)

    def __call__(self, code: Any, *args: Any, **rest: Any) -> Any:
        options = {"target": "renderer", "shape": "expression", **rest.pop("options", {})}
        if self.kind == "sync":
            with GuardClient(self.address, timeout=10, connect_timeout=0.5) as guard:
                return guarded(self.run, guard, **options)(code, *args, **rest)

        async def call() -> Any:
            async with AsyncGuardClient(self.address, timeout=10, connect_timeout=0.5) as guard:
                return await guarded(self.arun, guard, **options)(code, *args, **rest)

        return asyncio.run(call())


@pytest.fixture
def asked() -> list[pb.ValidateRequest]:
    return []


@pytest.fixture(params=["sync", "asyncio"])
def sink(request: pytest.FixtureRequest, serve_fake: Callable[..., str], asked: list[Any]) -> Sink:
    """Return a sink whose guard allows what does not begin with ``block``."""

    def answer(question: pb.ValidateRequest, _: grpc.ServicerContext) -> Any:
        asked.append(question)
        reply = true_allow(question)
        if question.code.startswith(b"block"):
            reply.error.code = "EVAL_BLOCKED_CONSTRUCT"
            reply.envelope = reply.envelope.replace(
                b'"ok": true', b'"ok": false, "code": "EVAL_BLOCKED_CONSTRUCT", "error": "e", "hint": "h"'
            )
        return reply

    return Sink(request.param, serve_fake(answer))


def test_the_sink_gets_the_payload_that_was_judged(sink: Sink, asked: list[pb.ValidateRequest]) -> None:
    assert sink("a + 'é'", 1, page="p", options={"bindings": {"a": "data"}}) == "value"

    assert sink.ran == [(("a + 'é'", 1), {"page": "p"})]
    (question,) = asked
    assert question.code == "a + 'é'".encode()
    assert (question.target, question.shape) == (pb.TARGET_RENDERER, pb.SHAPE_EXPRESSION)
    assert dict(question.bindings) == {"a": "data"}


def test_what_is_denied_does_not_reach_the_sink(sink: Sink) -> None:
    with pytest.raises(EvalDenied) as denied:
        sink(f"block {SECRET}")

    assert sink.ran == []
    assert denied.value.envelope["code"] == "EVAL_BLOCKED_CONSTRUCT"
    assert SECRET not in "".join(traceback.format_exception(denied.value))


def test_without_a_guard_nothing_reaches_the_sink(sink: Sink) -> None:
    sink.address = "127.0.0.1:1"

    with pytest.raises(EvalDenied) as denied:
        sink(SECRET)

    assert sink.ran == []
    assert denied.value.envelope["code"] == "SERVICE_UNREACHABLE"


@pytest.mark.parametrize("code", ["\ud800", f"{SECRET}\udfff", None, 7, [1], b"\xff\xfe"])
def test_what_is_no_text_is_denied(code: Any, sink: Sink) -> None:
    with pytest.raises(EvalDenied) as denied:
        sink(code)

    assert sink.ran == []
    assert denied.value.envelope["code"] in {"EVAL_BAD_ENCODING", "INVALID_INPUT"}
    assert SECRET not in "".join(traceback.format_exception(denied.value))


class TwoTexts(str):
    """Text that tells the guard something else than the sink."""

    __slots__ = ()

    def encode(self, *_: Any) -> bytes:
        return b"harmless"

    def __str__(self) -> str:
        return "harmless"


def test_text_of_two_minds_runs_as_it_was_judged(sink: Sink, asked: list[pb.ValidateRequest]) -> None:
    with pytest.raises(EvalDenied):
        sink(TwoTexts("block me"))
    sink(TwoTexts("other"))

    assert [question.code for question in asked] == [b"block me", b"other"]
    (((text,), _),) = sink.ran
    assert (type(text), text) == (str, "other")


def test_a_buffer_that_changes_later_runs_as_it_was_judged(
    serve_fake: Callable[..., str],
) -> None:
    buffer = bytearray(b"safe")
    ran: list[str] = []

    def answer(question: pb.ValidateRequest, _: grpc.ServicerContext) -> Any:
        buffer[:] = b"evil"
        return true_allow(question)

    with GuardClient(serve_fake(answer), timeout=10) as guard:
        guarded(ran.append, guard, target="renderer", shape="script")(buffer)  # type: ignore[arg-type]

    assert ran == ["safe"]


@pytest.mark.parametrize("shape", WRAPPERS)
def test_a_sink_of_programs_gets_the_payload_in_the_shape_that_was_judged(shape: str, sink: Sink) -> None:
    sink("x", options={"shape": shape, "wrap": True})

    wrapper = WRAPPERS[shape]  # type: ignore[index]  # a Shape is its own name
    (((program,), _),) = sink.ran
    assert program == f"{wrapper.prefix.decode()}x{wrapper.suffix.decode()}"


def test_the_sinks_failure_tells_nothing_of_the_payload(sink: Sink) -> None:
    sink.failure = RuntimeError(f"cannot evaluate {SECRET}")

    with pytest.raises(SinkFailed) as failed:
        sink(SECRET)

    assert failed.value.failure is sink.failure
    assert SECRET not in "".join(traceback.format_exception(failed.value))
    assert "RuntimeError" in str(failed.value)


def test_a_sink_of_one_kind_takes_no_guard_of_the_other() -> None:
    async def sink(text: str) -> str:
        return text

    with GuardClient("127.0.0.1:1") as guard, pytest.raises(TypeError, match="AsyncGuardClient"):
        guarded(sink, guard, target="main", shape="script")
    with pytest.raises(TypeError, match="AsyncGuardClient"):
        guarded(print, AsyncGuardClient("127.0.0.1:1"), target="main", shape="script")  # type: ignore[arg-type]


def test_a_guarded_sink_is_known_as_one() -> None:
    with GuardClient("127.0.0.1:1") as guard:
        assert is_guarded(guarded(str.upper, guard, target="main", shape="script"))
    assert not is_guarded(str.upper)


def test_what_is_denied_is_kept_where_the_caller_asks_for_it(sink: Sink, tmp_path: Path) -> None:
    triage = Triage(tmp_path / "kept")
    with pytest.raises(EvalDenied):
        sink(f"block {SECRET}", options={"triage": triage})
    sink("allowed", options={"triage": triage})
    assert [each.read_text() for each in triage.folder.glob("*.js")] == [f"block {SECRET}"]
