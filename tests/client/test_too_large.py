"""A request too large for any server is not sent; one too large for this server is denied with its limit."""

import json
from collections.abc import Callable
from contextlib import closing
from typing import Any

import grpc
import pytest

from evalward.client import GuardClient
from evalward.client.too_large import ARGUMENTS_FACTOR, MOST_PAYLOAD_BYTES, refused_message
from evalward.policy.fields import MAX_PAYLOAD_BYTES
from evalward.server.decide import call_decider as call

ServeFake = Callable[..., str]
MOST = 4 * 1024 * 1024  # gRPC's default limit


def never(_request: Any, _context: grpc.ServicerContext) -> Any:
    raise AssertionError("nothing should have come here")


@pytest.mark.parametrize(
    ("ask", "limit", "most"),
    [
        (lambda client, text: client.validate(text, target="renderer"), "payload_bytes", MOST_PAYLOAD_BYTES),
        (lambda client, text: client.evaluate(text), "payload_bytes", MOST_PAYLOAD_BYTES),
        (
            lambda client, text: client.validate_call("t", text),
            "arguments_bytes",
            ARGUMENTS_FACTOR * MOST_PAYLOAD_BYTES,
        ),
    ],
)
def test_what_no_server_takes_is_not_sent(
    ask: Callable[[GuardClient, bytes], Any], limit: str, most: int, serve_fake: ServeFake
) -> None:
    with closing(GuardClient(serve_fake(never))) as client:
        denied = ask(client, b" " * (most + 1))

    assert (denied.code, denied.envelope["retryable"]) == ("EVAL_PAYLOAD_TOO_LARGE", False)
    details = denied.envelope["details"]
    assert (details["limit"], details["limit_value"], details["actual"]) == (limit, most, most + 1)
    assert details["field"] in {"/code", "/arguments_json"}


def test_a_message_that_grpc_did_not_read_is_denied_by_its_limit(serve_fake: ServeFake) -> None:
    with closing(GuardClient(serve_fake(never), timeout=60)) as client:
        denied = client.validate(b" " * MOST, target="renderer")

    assert denied.code == "EVAL_PAYLOAD_TOO_LARGE"
    details = denied.envelope["details"]
    assert (details["limit"], details["limit_value"]) == ("message_bytes", MOST)
    assert details["actual"] > MOST


@pytest.mark.parametrize(
    "details",
    [None, "", "CLIENT: Received message larger than max (9 vs. 4)", "SERVER: Concurrent RPC limit"],
)
def test_other_words_are_no_refusal_of_a_message(details: str | None) -> None:
    assert refused_message(details) is None


def test_the_limits_are_those_of_the_service() -> None:
    assert MOST_PAYLOAD_BYTES == MAX_PAYLOAD_BYTES
    assert ARGUMENTS_FACTOR == call.ARGUMENTS_FACTOR
    assert json.dumps(MOST_PAYLOAD_BYTES) == "8388608"
