"""``prepare``: what it does to a page of Playwright, and what the guard's failures are."""

import asyncio
import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from evalward.client import AsyncGuardClient, GuardClient, Payload, Preparation, PrepareFailed, prepare
from evalward.client.batch_decision import batch_question
from evalward.client.guard_reply import Unproven
from evalward.client.preparation import preparation_from
from evalward.client.question import Questions
from evalward.v1 import evalward_pb2 as pb

REPLY = Preparation(None, {"ok": True}, "SCRIPT", "0.1.SECRET", "0")


class Page:
    """A page with two frames, or a context with it; ``done`` is what was asked of it."""

    def __init__(self, *, is_async: bool, is_context: bool = False) -> None:
        self.done: list[str] = []
        self._is_async = is_async
        frames = [SimpleNamespace(evaluate=self._doing(f"frame {number}")) for number in range(2)]
        if is_context:
            self.pages = [SimpleNamespace(frames=frames)]
        else:
            self.frames = frames

    def add_init_script(self, *, script: str) -> Any:
        return self._doing("init")(script)

    def _doing(self, what: str) -> Callable[[str], Any]:
        async def soon() -> None:
            pass

        def do(text: str) -> Any:
            self.done.append(f"{what} {text}")
            return soon() if self._is_async else None

        return do


def prepared_by(page: Page, monkeypatch: pytest.MonkeyPatch, *, is_async: bool) -> Any:
    async def soon(*_: Any) -> Preparation:
        return REPLY

    monkeypatch.setattr(AsyncGuardClient, "prepare_runtime", soon)
    monkeypatch.setattr(GuardClient, "prepare_runtime", lambda _: REPLY)
    if not is_async:
        with GuardClient("127.0.0.1:1") as client:
            return prepare(page, client)

    async def run() -> Any:
        async with AsyncGuardClient("127.0.0.1:1") as client:
            return await prepare(page, client)

    return asyncio.run(run())


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("is_context", [False, True])
def test_later_documents_and_open_frames_get_the_script(
    monkeypatch: pytest.MonkeyPatch, *, is_async: bool, is_context: bool
) -> None:
    page = Page(is_async=is_async, is_context=is_context)
    prepared = prepared_by(page, monkeypatch, is_async=is_async)
    assert page.done == ["init SCRIPT", "frame 0 SCRIPT", "frame 1 SCRIPT"]
    assert (prepared.key, prepared.version) == (REPLY.key, REPLY.version)
    assert not any("SECRET" in repr(shown) or "SCRIPT" in repr(shown) for shown in (prepared, REPLY))


def test_a_service_that_is_older_is_named(serve_fake: Callable[..., str]) -> None:
    page = Page(is_async=False)
    with (
        GuardClient(serve_fake(lambda *_: None), timeout=10) as client,
        pytest.raises(PrepareFailed, match="older than this client") as caught,
    ):
        prepare(page, client)
    assert caught.value.envelope["details"]["grpc_status"] == "UNIMPLEMENTED"
    assert page.done == []


def test_a_guard_that_is_not_there_leaves_the_page_as_it_is() -> None:
    page = Page(is_async=False)
    with (
        GuardClient("127.0.0.1:1", connect_timeout=0.2) as client,
        pytest.raises(PrepareFailed, match="cannot be reached"),
    ):
        prepare(page, client)
    assert page.done == []


def test_a_target_that_cannot_be_asked_about() -> None:
    with GuardClient("127.0.0.1:1") as client:
        reply = client.prepare_runtime("moon")
    assert (reply.code, reply.script, reply.key) == ("INVALID_INPUT", "", "")


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (pb.PrepareRuntimeResponse(), "no outcome"),
        (pb.PrepareRuntimeResponse(prepared=pb.PreparedRuntime(script="x")), "no script or no key"),
        (
            pb.PrepareRuntimeResponse(
                prepared=pb.PreparedRuntime(script="x", key="y", version="z"), envelope=b'{"ok":false}'
            ),
            "contradicts",
        ),
    ],
)
def test_an_answer_that_is_none(reply: pb.PrepareRuntimeResponse, says: str) -> None:
    if not reply.envelope:
        reply.envelope = json.dumps({"ok": True, "_meta": {}}).encode()
    with pytest.raises(Unproven, match=says):
        preparation_from(reply)


def test_every_question_about_a_program_carries_the_key() -> None:
    payload = Payload(b"1", "renderer", prepared="KEY")
    questions = Questions()

    single = questions.validate(b"1", target="renderer", prepared="KEY").request
    call = questions.validate_call("run", b"{}", prepared="KEY").request
    batch = batch_question(questions, [payload], stop_on_first=False, session_id="").request

    assert isinstance(single, pb.ValidateRequest)
    assert isinstance(call, pb.ValidateCallRequest)
    assert isinstance(batch, pb.ValidateBatchRequest)
    keys = [single.prepared, call.prepared, *(each.prepared for each in batch.items)]
    assert keys == ["KEY", "KEY", "KEY"]
    assert "KEY" not in repr(payload)
