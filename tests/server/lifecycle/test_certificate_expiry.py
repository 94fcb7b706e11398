"""A certificate that expires while the server runs: readiness, a metric and stderr report it; a new one fixes it."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import grpc
import pytest
import trustme
from admin_http import fetch, values

from evalward.server.settings import TlsFiles
from evalward.server.transport.tls import Certificates

if TYPE_CHECKING:
    from pathlib import Path

    from evalward.v1 import evalward_pb2 as pb

Serve = Callable[..., Any]
NOT_AFTER = "evalward_tls_not_after_timestamp_seconds"


@pytest.fixture
def files(tmp_path: Path) -> TlsFiles:
    return TlsFiles(tmp_path / "server.pem", tmp_path / "server.key", tmp_path / "ca.pem")


def issue(files: TlsFiles, ca: trustme.CA, *, seconds: float) -> datetime:
    """Write a certificate that expires in ``seconds``; return the time of expiry."""
    end = (datetime.now(UTC) + timedelta(seconds=seconds)).replace(microsecond=0)
    issued = ca.issue_cert("127.0.0.1", not_before=end - timedelta(days=2), not_after=end)
    if files.client_ca is not None:
        ca.cert_pem.write_to_path(files.client_ca)
    files.key.touch(0o600)
    issued.private_key_pem.write_to_path(files.key)
    issued.cert_chain_pems[0].write_to_path(files.certificate)
    return end


def put_in_force_until_soon(process: Any, files: TlsFiles, ca: trustme.CA) -> None:
    """Let the server load a certificate that expires soon; if it expired before the load, retry with a longer one."""
    for seconds in (4, 8, 16, 32, 64):
        issue(files, ca, seconds=seconds)
        line = ""
        # Between the two writes the files do not match; no reload result is expected then.
        while "in force" not in line and "expired" not in line:
            line = process.says("new TLS files are")
        if "in force" in line:
            return
    raise AssertionError("the server is too slow for a certificate of a minute")


def checks(admin: str) -> tuple[int, dict[str, str]]:
    reply = fetch(admin, "/readyz")
    return reply.status, json.loads(reply.body)["checks"]


@pytest.mark.exhaustive
def test_the_end_is_told_and_a_new_certificate_ends_it(
    serve: Serve,
    stub_at: Callable[[str], Any],
    ask: Callable[..., pb.ValidateRequest],
    files: TlsFiles,
    tmp_path: Path,
) -> None:
    end = issue(files, ca := trustme.CA(), seconds=3_600)
    process = serve(
        *("--listen", f"unix:{tmp_path}/socket", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"),
        *("--tls-cert", str(files.certificate), "--tls-key", str(files.key), "--allow-eval=renderer"),
    )
    admin = process.ready["admin"]
    assert values(admin, NOT_AFTER) == {f'{NOT_AFTER}{{certificate="server"}}': end.timestamp()}
    assert checks(admin)[1]["certificate"] == "ok"

    put_in_force_until_soon(process, files, ca)
    assert "failed: expired: server" in process.says("no new client can connect over TLS")

    status, states = checks(admin)
    assert (status, states.pop("certificate")) == (503, "failed: expired: server")
    assert set(states.values()) == {"ok"}
    assert values(admin, "evalward_ready") == {"evalward_ready": 0}
    assert fetch(admin, "/livez").status == 200
    # Callers on the Unix socket need no certificate.
    assert stub_at(process.listen[0]).Validate(ask(), timeout=60).WhichOneof("outcome") == "allowed"

    end = issue(files, ca, seconds=3_600)
    assert f"until {end:%Y-%m-%dT%H:%M:%SZ}" in process.says("new TLS files are in force")
    assert checks(admin) == (200, dict.fromkeys([*states, "certificate"], "ok"))
    assert list(values(admin, NOT_AFTER).values()) == [end.timestamp()]
    credentials = grpc.ssl_channel_credentials(ca.cert_pem.bytes())
    with grpc.secure_channel(process.listen[1], credentials) as channel:
        grpc.channel_ready_future(channel).result(timeout=30)


def test_the_last_client_ca_counts_too(files: TlsFiles) -> None:
    now = datetime.now(UTC).timestamp()
    issue(files, trustme.CA(), seconds=3_600)
    certificates = Certificates(files, clock=lambda: now)
    ends = certificates.validity.ends()
    assert ends.keys() == {"server", "client_ca"}
    assert ends["client_ca"] > ends["server"] > now
    assert certificates.state() == "ok"

    now = ends["client_ca"] - 1
    assert certificates.state() == "failed: expired: server"
    now += 1
    assert certificates.state() == "failed: expired: server, client_ca"


def test_the_end_is_said_once(files: TlsFiles, caplog: pytest.LogCaptureFixture) -> None:
    now = datetime.now(UTC).timestamp()
    issue(files, trustme.CA(), seconds=3_600)
    certificates = Certificates(files, clock=lambda: now)
    for _ in range(3):
        certificates.log_expiry()
    assert caplog.messages == []
    now += 7_200
    for _ in range(3):
        certificates.log_expiry()
    assert len(caplog.messages) == 1
