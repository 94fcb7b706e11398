"""Wrong arguments: the constructor raises, a call denies; both name the argument. Right ones arrive."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_guard import Requester, assert_denied, question, true_allow

from evalward.client import AsyncGuardClient, GuardClient, Tls

ServeFake = Callable[..., str]


@pytest.mark.parametrize("client", [GuardClient, AsyncGuardClient])
@pytest.mark.parametrize(
    ("options", "kind", "says"),
    [
        ({"address": 7443}, TypeError, "address takes str"),
        ({"timeout": "1"}, TypeError, "timeout takes seconds"),
        ({"timeout": 0}, ValueError, "timeout takes seconds above 0"),
        ({"connect_timeout": float("nan")}, ValueError, "connect_timeout takes seconds above 0"),
        ({"policy_digest": b"a"}, TypeError, "policy_digest takes str"),
        ({"policy_digest": "a"}, ValueError, "policy_digest takes 64"),
        ({"tls": True}, TypeError, "tls takes Tls"),
        ({"token": b"secret"}, TypeError, "token takes str"),
        ({"address": "127.0.0.1:1", "peer_uid": 0}, ValueError, "peer_uid needs unix:PATH"),
        ({"address": "unix:/g", "peer_uid": "root"}, TypeError, "peer_uid takes int"),
    ],
)
def test_the_constructor_raises_and_names_the_argument(
    options: dict[str, Any], kind: type[Exception], says: str, client: Any
) -> None:
    with pytest.raises(kind, match=says):
        client(**options)


def test_a_certificate_that_is_none_is_no_client(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("nonsense")

    with pytest.raises(OSError, match=r"."):
        GuardClient("127.0.0.1:7443", tls=Tls(ca=tmp_path / "ca.pem"))


@pytest.mark.parametrize(
    ("method", "args", "options", "pointer", "says"),
    [
        ("validate", ("1",), {"target": "renderer"}, "/code", "code takes bytes"),
        ("validate", (b"1",), {"target": "moon"}, "/target", "target has no such value"),
        ("validate", (b"1",), {"target": "renderer", "shape": 1}, "/shape", "shape has no such value"),
        (
            "validate",
            (b"1",),
            {"target": "renderer", "session_id": 1},
            "/session_id",
            "session_id takes text",
        ),
        ("validate", (b"1",), {"target": "renderer", "limits": {"x": 1}}, "/limits", "unknown limit"),
        (
            "validate",
            (b"1",),
            {"target": "renderer", "limits": {"depth": -1}},
            "/limits/depth",
            "whole number",
        ),
        (
            "validate",
            (b"1",),
            {"target": "renderer", "include_context": 1},
            "/include_context",
            "True or False",
        ),
        ("validate_call", ("t", "{}"), {}, "/arguments_json", "arguments_json takes bytes"),
        ("validate_call", ("t", b"{}"), {"runs": "/code"}, "/runs", "runs takes a collection"),
        ("evaluate", (b"1",), {"arg_json": "{}"}, "/arg_json", "arg_json takes bytes"),
        ("evaluate", (b"1",), {"guard_limits": {"fuel": 1}}, "/guard_limits", "unknown limit"),
        ("validate_batch", (None,), {}, None, "cannot be built"),
    ],
)
def test_a_call_never_raises_and_its_denial_names_the_argument(  # noqa: PLR0913, PLR0917 - a table's columns
    method: str, args: Any, options: Any, pointer: str | None, says: str, requester: Requester
) -> None:
    (reply,) = requester("127.0.0.1:1", (method, args, options))

    assert_denied(reply, says=says, code="INVALID_INPUT")
    details = reply.envelope.get("details", {})
    assert details.get("field") == pointer
    if "no such value" in says or "no limit" in says:
        assert (
            "renderer" in details["allowed"]
            or "script" in details["allowed"]
            or "depth" in details["allowed"]
        )


def test_limits_and_context_arrive(requester: Requester, serve_fake: ServeFake) -> None:
    asked: list[Any] = []

    def answer(request: Any, _: Any) -> Any:
        asked.append(request)
        return true_allow(request)

    address = serve_fake(answer)
    for rpc in ("Validate", "ValidateCall"):
        requester(address, question(rpc, limits={"steps": 7}, include_context=True), timeout=10)
    requester(address, question("Evaluate", guard_limits={"depth": 9}), timeout=10)

    assert [(request.limits.steps, request.include_context) for request in asked[:2]] == [(7, True)] * 2
    assert asked[2].guard_limits.depth == 9
