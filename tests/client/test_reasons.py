"""Why a guard cannot be reached: each cause has its own code, reason and ``retryable``."""

import datetime as dt
import json
import os
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import grpc
import pytest
import trustme
from fake_guard import POLICY_DIGEST, Requester, assert_denied, is_allowed, question, true_allow
from raw_guard import serving_raw

from evalward.client import AsyncGuardClient, GuardClient, Tls
from evalward.client.peer import SocketOwner, WrongPeer

ServeFake = Callable[..., str]
NODE = Path(__file__).parents[2] / "clients" / "node"
NOW = dt.datetime.now(dt.UTC)
DAY = dt.timedelta(days=1)


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def credentials(
    authority: trustme.CA, *names: str, demand: bool = False, **valid: Any
) -> grpc.ServerCredentials:
    made = authority.issue_cert(*(names or ("127.0.0.1",)), **valid)
    pair = (made.private_key_pem.bytes(), made.cert_chain_pems[0].bytes())
    return grpc.ssl_server_credentials([pair], authority.cert_pem.bytes(), demand)


@pytest.fixture
def files(authority: trustme.CA, tmp_path: Path) -> dict[str, Path]:
    """Write an authority's certificate, that of another, and a certificate with key that the other signed."""
    other = trustme.CA()
    stranger = other.issue_cert("client@guard.test")
    written = {name: tmp_path / f"{name}.pem" for name in ("ca", "other", "certificate", "key")}
    authority.cert_pem.write_to_path(str(written["ca"]))
    other.cert_pem.write_to_path(str(written["other"]))
    stranger.cert_chain_pems[0].write_to_path(str(written["certificate"]))
    written["key"].touch(0o600)
    stranger.private_key_pem.write_to_path(str(written["key"]))
    return written


def allow(request: Any, _: Any) -> Any:
    return true_allow(request)


def assert_reason(
    requester: Requester, address: str, code: str, reason: str, *, retryable: bool, **options: Any
) -> None:
    options = {"connect_timeout": 0.4, "timeout": 5, **options}
    (reply,) = requester(address, question("Validate"), **options)
    assert_denied(reply, says="cannot be reached", code=code)
    details = reply.envelope["details"]
    assert (details["reason"], details["grpc_status"]) == (reason, "UNAVAILABLE")
    assert reply.envelope["retryable"] is retryable
    if requester.kind == "sync":  # once is enough: Node's result does not depend on the caller
        told = node_says(address, options.get("tls"))
        assert told is None or told == [code, reason, retryable]


def node_says(address: str, tls: Tls | None) -> list[Any] | None:
    """Return the Node client's diagnosis of the same guard, None when the client is not built here."""
    if not (NODE / "dist").is_dir() or not (NODE / "node_modules").is_dir():
        return None
    names = {"ca": "ca", "certificate": "certificate", "key": "key"}
    files = {ours: str(getattr(tls, theirs)) for theirs, ours in names.items() if getattr(tls, theirs, None)}
    script = """
        import { readFileSync } from 'node:fs';
        import { Guard } from './dist/esm/index.js';
        const [address, isTls, files] = JSON.parse(process.argv[1]);
        const pems = Object.fromEntries(Object.entries(files).map(([name, path]) => [name, readFileSync(path)]));
        const guard = new Guard({ address, connectTimeoutMs: 400, timeoutMs: 5000, ...(isTls && { tls: pems }) });
        const { code, envelope } = await guard.check('1', { target: 'renderer' });
        console.log(JSON.stringify([code, envelope.details.reason, envelope.retryable]));
        process.exit(0);
    """
    done = subprocess.run(
        ["node", "--input-type=module", "-e", script, json.dumps([address, tls is not None, files])],
        cwd=NODE,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    said: list[Any] = json.loads(done.stdout)
    return said


@pytest.mark.exhaustive
def test_nobody_listens(requester: Requester, tmp_path: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]

    assert_reason(requester, f"127.0.0.1:{port}", "SERVICE_UNREACHABLE", "refused", retryable=True)
    assert_reason(requester, f"unix:{tmp_path}/none.sock", "SERVICE_UNREACHABLE", "no_socket", retryable=True)


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("does", "reason"),
    [
        (["hold"], "no_answer"),
        (["close"], "closed"),
        (["reset"], "closed"),
        (["http1", "hold"], "not_a_guard"),
        (["garbage", "hold"], "not_a_guard"),
        (["settings", "request", "close"], "closed"),
    ],
)
def test_somebody_listens_who_is_no_guard(does: list[str], reason: str, requester: Requester) -> None:
    with serving_raw(does) as address:
        assert_reason(requester, address, "SERVICE_UNREACHABLE", reason, retryable=True)


@pytest.mark.exhaustive
def test_one_side_speaks_tls_and_the_other_does_not(
    requester: Requester, serve_fake: ServeFake, authority: trustme.CA, files: dict[str, Path]
) -> None:
    plain = serve_fake(allow)
    for demand in (False, True):
        secure = serve_fake(allow, credentials=credentials(authority, demand=demand))
        assert_reason(requester, secure, "TLS_FAILED", "tls_expected", retryable=False)
    tls = Tls(ca=files["ca"])
    assert_reason(requester, plain, "TLS_FAILED", "tls_not_spoken", retryable=False, tls=tls)


@pytest.mark.exhaustive
def test_a_certificate_that_is_wrong(
    requester: Requester, serve_fake: ServeFake, authority: trustme.CA, files: dict[str, Path]
) -> None:
    good = serve_fake(allow, credentials=credentials(authority))
    named = serve_fake(allow, credentials=credentials(authority, "guard.test"))
    expired = serve_fake(
        allow, credentials=credentials(authority, not_before=NOW - 2 * DAY, not_after=NOW - DAY)
    )
    early = serve_fake(
        allow, credentials=credentials(authority, not_before=NOW + DAY, not_after=NOW + 2 * DAY)
    )
    tls = Tls(ca=files["ca"])
    for address, reason, trusted in [
        (good, "certificate_untrusted", Tls(ca=files["other"])),
        (named, "certificate_name", tls),
        (expired, "certificate_expired", tls),
        (early, "certificate_expired", tls),
    ]:
        assert_reason(requester, address, "TLS_FAILED", reason, retryable=False, tls=trusted)


@pytest.mark.exhaustive
def test_the_guard_asks_for_a_certificate_that_the_client_has_not(
    requester: Requester, serve_fake: ServeFake, authority: trustme.CA, files: dict[str, Path]
) -> None:
    address = serve_fake(allow, credentials=credentials(authority, demand=True))

    for tls in (Tls(ca=files["ca"]), Tls(files["ca"], files["certificate"], files["key"])):
        assert_reason(requester, address, "TLS_FAILED", "client_certificate", retryable=False, tls=tls)


def test_a_name_that_nobody_knows(requester: Requester) -> None:
    options = {"connect_timeout": 0.3}
    (reply,) = requester("tls:guard.invalid:7443", question("Validate"), **options)

    assert_denied(reply, code="SERVICE_UNREACHABLE")
    # Without any name server the answer may be late instead.
    assert reply.envelope["details"]["reason"] in {"name_unknown", "no_answer"}


@contextmanager
def unix_listener(path: Path) -> Iterator[None]:
    with closing(socket.socket(socket.AF_UNIX)) as listener:
        listener.bind(str(path))
        listener.listen()
        thread = threading.Thread(target=_accept, args=(listener,), daemon=True)
        thread.start()
        yield
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        thread.join(30)


def _accept(listener: socket.socket) -> None:
    with suppress(OSError):
        while True:
            listener.accept()[0].close()


def test_a_unix_socket_of_the_user_that_was_asked_for(
    requester: Requester, serve_fake: ServeFake, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    folder.mkdir(mode=0o755)
    address = serve_fake(allow, address=f"unix:{folder}/guard.sock")
    options = {"timeout": 10, "policy_digest": POLICY_DIGEST}

    assert is_allowed(requester(address, question("Validate"), peer_uid=os.geteuid(), **options)[0])
    (other,) = requester(address, question("Validate"), peer_uid=os.geteuid() + 1, **options)
    folder.chmod(0o777)
    (replaceable,) = requester(address, question("Validate"), peer_uid=os.geteuid(), **options)

    assert_denied(other, says="belongs to the user", code="SERVICE_UNPROVEN")
    assert_denied(replaceable, says="others can replace", code="SERVICE_UNPROVEN")
    folder.chmod(0o1777)
    assert is_allowed(requester(address, question("Validate"), peer_uid=os.geteuid(), **options)[0])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a socket away")
def test_who_listens_counts_and_not_only_whose_file_it_is(tmp_path: Path) -> None:
    path = tmp_path / "guard.sock"
    with unix_listener(path):
        os.chown(path, 12345, 12345)
        with pytest.raises(WrongPeer, match="that listens at"):
            SocketOwner(str(path), 12345).check()


def test_a_file_that_is_no_socket(tmp_path: Path) -> None:
    (tmp_path / "guard.sock").touch()

    with pytest.raises(WrongPeer, match="not a socket"):
        SocketOwner(str(tmp_path / "guard.sock"), os.geteuid()).check()


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
