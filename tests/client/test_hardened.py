"""Hardened programs through a real server: a guarded sink runs them, and a denial becomes an envelope and a record."""

import asyncio
import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from fake_guard import CLIENTS, true_allow

from evalward.client import (
    AsyncGuardClient,
    EvalDenied,
    GuardClient,
    Payload,
    SinkFailed,
    Triage,
    guarded,
)
from evalward.client.denied_run import construct_in_error, construct_in_result
from evalward.guard.constructs import CONSTRUCTS
from evalward.v1 import evalward_pb2 as pb

OPTIONS: Final[dict[str, Any]] = {"target": "renderer", "shape": "expression"}
DENIED = "Page.evaluate: EvalwardDenied: evalward denied eval(): text cannot run\n    at <anonymous>:1:9"
Answer = Callable[[Any], Any]
# The same table holds for the client in Node: clients/node/test/hardened.test.mjs.
TABLE = json.loads((Path(__file__).parents[1] / "data" / "client" / "hardened.json").read_text("utf-8"))


@pytest.fixture
def guard(tmp_path: Path, emitter: None, serving: Callable[..., Any]) -> Iterator[Any]:  # noqa: ARG001 - the server emits with it
    with serving(tmp_path) as started:
        yield started


def run(kind: str, address: str, sink: Callable[[str], Any], code: str, **options: Any) -> Any:
    """Run ``code`` in the guarded ``sink`` with the client of this ``kind``."""
    options = {**OPTIONS, **options}
    if kind == "sync":
        with GuardClient(address, timeout=10) as client:
            return guarded(sink, client, **options)(code)

    async def asynchronous(text: str) -> Any:
        return sink(text)

    async def call() -> Any:
        async with AsyncGuardClient(address, timeout=10) as client:
            return await guarded(asynchronous, client, **options)(code)

    return asyncio.run(call())


def raising(text: str) -> Callable[[str], Any]:
    def sink(_program: str) -> None:
        raise RuntimeError(text)

    return sink


@pytest.mark.parametrize("kind", CLIENTS)
def test_a_guarded_sink_runs_the_program_instead_of_the_payload(kind: str, guard: Any) -> None:
    ran: list[str] = []

    assert run(kind, guard.address, ran.append, "document.title") is None
    run(kind, guard.address, ran.append, "document.title", harden=False)

    assert ran[0].endswith("v=>(document.title))(0)")
    assert ran[1] == "document.title"


@pytest.mark.parametrize("kind", CLIENTS)
def test_a_denial_at_run_time_is_an_envelope_a_record_and_a_case_for_triage(
    kind: str, guard: Any, tmp_path: Path
) -> None:
    triage = Triage(tmp_path / "denied")

    with pytest.raises(EvalDenied) as caught:
        run(kind, guard.address, raising(DENIED), "document.title", triage=triage)

    envelope = caught.value.envelope
    assert envelope["code"] == "EVAL_DENIED_AT_RUN_TIME"
    assert envelope["next_actions"] == [*CONSTRUCTS["eval()"].use_instead]
    assert envelope["details"]["construct"] == "eval()"
    assert envelope["details"]["code_hash"] == hashlib.sha256(b"document.title").hexdigest()
    assert envelope["_meta"]["decision_id"] == caught.value.decision.decision_id
    assert envelope["_meta"]["audited"] is True
    assert caught.value.__context__ is None
    assert len(guard.records("run_time_denial")) == 1
    assert len([*triage.folder.glob("*.js")]) == 1


@pytest.mark.parametrize("kind", CLIENTS)
def test_a_report_that_fails_does_not_change_the_outcome(kind: str, guard: Any) -> None:
    def sink(_program: str) -> None:
        guard.server.stop()
        raise RuntimeError(DENIED)

    with pytest.raises(EvalDenied) as caught:
        run(kind, guard.address, sink, "document.title")

    assert caught.value.envelope["code"] == "EVAL_DENIED_AT_RUN_TIME"
    assert caught.value.envelope["_meta"]["audited"] is False


@pytest.mark.parametrize("kind", CLIENTS)
@pytest.mark.parametrize("harden", [None, False])
def test_another_error_stays_the_sinks_own(kind: str, guard: Any, *, harden: bool | None) -> None:
    text = "ReferenceError: x is not defined" if harden is None else DENIED

    with pytest.raises(SinkFailed):
        run(kind, guard.address, raising(text), "document.title", harden=harden)


@pytest.mark.parametrize("kind", CLIENTS)
def test_a_payload_that_cannot_be_hardened_is_denied_where_a_program_is_required(
    kind: str, guard: Any
) -> None:
    ran: list[str] = []
    payload = "/* import( */ document.title"

    run(kind, guard.address, ran.append, payload)
    with pytest.raises(EvalDenied) as caught:
        run(kind, guard.address, ran.append, payload, harden=True)

    assert ran == [payload]
    assert caught.value.envelope["code"] == "EVAL_NOT_HARDENABLE"


def test_batches_and_streams_give_programs(guard: Any) -> None:
    items = [
        Payload(b"document.title", **OPTIONS, harden=True),
        Payload(b"document.title", **OPTIONS),
        Payload(b"globalThis['ev' + 'al']('1')", **OPTIONS),
    ]
    with GuardClient(guard.address, timeout=10) as client:
        batch = client.validate_batch(items)
        stream = [*client.validate_stream(items)]

    assert [item.hardened is not None for item in batch.items] == [True, False, False]
    assert [item.hardened is not None for item in stream] == [True, True, False]
    assert [item.allowed for item in (*batch.items, *stream)] == [True, True, False] * 2


@pytest.mark.parametrize("case", TABLE["errors"], ids=lambda case: case["text"][:40])
def test_the_construct_of_a_denial_is_read_from_the_errors_text(case: dict[str, Any]) -> None:
    assert construct_in_error(RuntimeError(case["text"])) == case["construct"]


@pytest.mark.parametrize("case", TABLE["results"], ids=lambda case: str(case["result"])[:40])
def test_the_construct_of_a_denial_is_read_from_a_result(case: dict[str, Any]) -> None:
    assert construct_in_result(case["result"]) == case["construct"]


def test_an_exception_that_a_sink_returns_is_read_like_one_that_it_raises() -> None:
    assert construct_in_result(RuntimeError(DENIED)) == "eval()"


PROGRAM = b"(Prefix000000v=>(document.title))(0)"
DIGEST = hashlib.sha256(PROGRAM).hexdigest()


def hardened_allow(request: pb.ValidateRequest, change: dict[str, Any]) -> pb.ValidateResponse:
    """Return an ALLOW with a program and the changes of a case."""
    program = change["program"].encode() if "program" in change else PROGRAM
    digest = hashlib.sha256(program).hexdigest() if change.get("rehash") else DIGEST
    response: pb.ValidateResponse = true_allow(request)
    envelope = json.loads(response.envelope)
    if stated := change.get("stated", digest):
        envelope["hardened"] = {"sha256": stated}
    response.envelope = json.dumps(envelope).encode()
    response.binding.hardened_hash = change.get("bound", digest)
    if change.get("carried", True):
        carried = pb.Hardened(
            program=program, sha256=change.get("sha256", digest), sink=change.get("sink", "")
        )
        if (shape := change.get("shape", pb.Shape.Name(request.shape))) is not None:
            carried.shape = pb.Shape.Value(shape)
        response.allowed.hardened.CopyFrom(carried)
    return response


@pytest.mark.parametrize("case", TABLE["replies"], ids=lambda case: case["name"])
def test_only_the_program_of_the_verdict_counts(serve_fake: Callable[..., str], case: dict[str, Any]) -> None:
    address = serve_fake(lambda request, _context: hardened_allow(request, case["change"]))

    with GuardClient(address, timeout=10) as client:
        decision = client.validate(b"document.title", **OPTIONS, harden=case["harden"])

    assert decision.allowed is case["allowed"]
    assert (decision.hardened is not None) is (case["allowed"] and case["change"].get("carried", True))
