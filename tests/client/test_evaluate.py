"""``evaluate`` returns a result only for a proven reply (the denials are in ``test_denials``)."""

from collections.abc import Callable
from typing import Any

import pytest
from fake_guard import CODE, Requester, assert_denied, true_allow

from evalward.audit import AuditLog
from evalward.client import GuardClient
from evalward.errors import Provenance
from evalward.guard import judge
from evalward.guard.target import Target
from evalward.policy import Policy
from evalward.server.addresses import parse_listen
from evalward.server.lifecycle.sidecar import Server
from evalward.server.settings import Settings
from evalward.v1 import evalward_pb2 as pb


def test_a_result_comes_with_its_console(requester: Requester, serve_fake: Callable[..., str]) -> None:
    address = serve_fake(lambda request, _: true_allow(request))

    (reply,) = requester(
        address, ("evaluate", (CODE,), {"limits": {"deadline_ms": 50}, "seed": 1}), timeout=10
    )

    assert (reply.ok, reply.result_json, reply.console) == (True, b"2", ("hi",))


@pytest.mark.parametrize("shape", [None, pb.SHAPE_MODULE])
def test_a_result_without_the_shape_that_ran_is_no_result(
    shape: Any, requester: Requester, serve_fake: Callable[..., str]
) -> None:
    def answer(request: pb.EvaluateRequest, _: Any) -> pb.EvaluateResponse:
        reply: pb.EvaluateResponse = true_allow(request)
        reply.binding.ClearField("shape")
        if shape is not None:
            reply.binding.shape = shape
        return reply

    (reply,) = requester(serve_fake(answer), ("evaluate", (CODE,), {}), timeout=10)

    assert_denied(reply, says="shape")


def test_a_real_service_runs_what_the_client_sends(tmp_path: Any) -> None:

    policy = Policy.default().allowing([Target.SANDBOX])
    server = Server(
        judge,
        policy=policy,
        provenance=Provenance("0.0.0", policy.digest, "0" * 12, "tree-sitter-javascript 0.25.0"),
        audit_log=AuditLog.open(tmp_path / "audit.jsonl"),
        settings=Settings(),
    )
    (address,) = server.start([parse_listen(f"unix:{tmp_path}/guard.sock")])
    try:
        with GuardClient(address, timeout=30, policy_digest=policy.digest) as client:
            doubled = client.evaluate(b"(a) => a.map(x => x * 2)", arg_json=b"[1, 2]")
            thrown = client.evaluate(b"console.log('before'); null.x")
            denied = client.evaluate(b"[].at.constructor('1')()")
            nothing = client.evaluate(b"undefined")
    finally:
        server.stop()

    assert (doubled.ok, doubled.result_json) == (True, b"[2,4]")
    assert (thrown.code, thrown.console) == ("EVAL_RUNTIME_ERROR", ("before",))
    assert (denied.code, denied.ok) == ("EVAL_BLOCKED_CONSTRUCT", False)
    assert (nothing.ok, nothing.result_json) == (True, None)
