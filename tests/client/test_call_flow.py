"""The sans-I/O core: the steps of a call, and that both clients have the operations' signatures."""

from __future__ import annotations

import inspect
from typing import Any

import grpc
import pytest

from evalward.client import AsyncGuardClient, Decision, GuardClient
from evalward.client.address import Address
from evalward.client.call_flow import VALIDATE, CallFlow
from evalward.client.diagnosis import Reason
from evalward.client.steps import Connect, Diagnose, Progress, Step, Unary


def flow() -> CallFlow:
    return CallFlow(Address("127.0.0.1:7443"), 0.25, 2.0, None)


def walked(flow: CallFlow, results: dict[type, Any]) -> tuple[list[type], Decision]:
    """Return the steps of one validation, each of which ends as ``results`` says, and its decision."""
    progress = Progress(flow.operation(VALIDATE, b"1", target="renderer"))
    steps: list[type] = []
    while progress.step is not None:
        step: Step = progress.step
        steps.append(type(step))
        result = results[type(step)]
        if isinstance(result, Exception):
            progress.fail(result)
        else:
            progress.succeed(result)
    return steps, progress.result


class Unavailable(grpc.RpcError):
    """A status without an envelope, as gRPC raises it for a lost connection."""

    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.UNAVAILABLE

    def trailing_metadata(self) -> tuple[()]:
        return ()


def test_a_channel_that_does_not_connect_is_diagnosed() -> None:
    steps, decision = walked(flow(), {Connect: False, Diagnose: Reason.REFUSED})

    assert steps == [Connect, Diagnose]
    assert decision.code == "SERVICE_UNREACHABLE"
    assert decision.envelope["details"]["reason"] == "refused"


def test_a_diagnosis_that_takes_too_long_is_no_answer() -> None:
    _, decision = walked(flow(), {Connect: False, Diagnose: TimeoutError()})

    assert decision.envelope["details"]["reason"] == "no_answer"


def test_a_lost_connection_is_diagnosed_and_connected_again() -> None:
    same = flow()
    results = {Connect: True, Unary: Unavailable(), Diagnose: Reason.CLOSED}

    assert walked(same, results)[0] == [Connect, Unary, Diagnose]
    assert walked(same, results)[0] == [Connect, Unary, Diagnose]


def test_a_channel_is_connected_once() -> None:
    same = flow()

    assert walked(same, {Connect: True, Unary: (b"\xff", ())})[0] == [Connect, Unary]
    steps, decision = walked(same, {Unary: RuntimeError("payload")})
    assert steps == [Unary]
    assert decision.code == "INTERNAL"
    assert "payload" not in decision.envelope["error"]


def test_a_closed_client_takes_no_step() -> None:
    closed = flow()
    closed.is_closed = True

    steps, decision = walked(closed, {})

    assert steps == []
    assert decision.allowed is False


@pytest.mark.parametrize("name", ["validate", "validate_call", "evaluate"])
def test_both_clients_have_the_same_signature_and_docstring(name: str) -> None:
    one, other = getattr(GuardClient, name), getattr(AsyncGuardClient, name)

    assert inspect.signature(one) == inspect.signature(other)
    assert one.__doc__ == other.__doc__
    assert inspect.iscoroutinefunction(other)
    assert one.__qualname__ == f"GuardClient.{name}"


def test_an_unknown_argument_is_a_type_error() -> None:
    with GuardClient("127.0.0.1:1") as client, pytest.raises(TypeError, match="unknown"):
        client.validate(b"1", target="renderer", unknown=1)  # type: ignore[call-arg]
