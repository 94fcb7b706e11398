"""Why a guard cannot be reached: each cause has its own code, reason and ``retryable``."""

import datetime as dt
import json
import socket
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import grpc
import pytest
import trustme
from fake_guard import Requester, assert_denied, question, true_allow
from raw_guard import serving_raw

from evalward.client import Tls

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
