"""TLS over real sockets: admitted clients, errors that stop the start, and reloaded files."""

from __future__ import annotations

import hashlib
import json
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import grpc
import pytest
import trustme

from evalward.audit import AuditLog
from evalward.server.settings import TlsFiles
from evalward.server.transport.tls import Certificates
from evalward.v1 import evalward_pb2 as pb
from evalward.v1.evalward_pb2_grpc import GuardServiceStub

Serve = Callable[..., Any]
Ask = Callable[..., pb.ValidateRequest]
TIMEOUT = 20


@dataclass(frozen=True)
class Files:
    """A CA and one of its certificates, on disk."""

    ca: Path
    certificate: Path
    key: Path


def issue(ca: trustme.CA, folder: Path, name: str, *identities: str, expired: bool = False) -> Files:
    """Write a certificate that ``ca`` has signed."""
    folder.mkdir(exist_ok=True)
    ends = datetime.now(UTC) + timedelta(days=-1 if expired else 30)
    issued = ca.issue_cert(*identities, not_before=ends - timedelta(days=60), not_after=ends)
    files = Files(folder / "ca.pem", folder / f"{name}.pem", folder / f"{name}.key")
    ca.cert_pem.write_to_path(files.ca)
    files.certificate.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
    files.key.touch(0o600)
    issued.private_key_pem.write_to_path(files.key)
    return files


@pytest.fixture(scope="module")
def ca() -> trustme.CA:
    return trustme.CA()


def flags(files: Files, *more: str) -> list[str]:
    """Return the options of a server with the certificate ``files``."""
    return [
        *("--listen", "127.0.0.1:0", "--allow-eval=renderer"),
        *("--tls-cert", str(files.certificate), "--tls-key", str(files.key), *more),
    ]


@contextmanager
def stub(address: str, trusted: Path, client: Files | None = None) -> Iterator[GuardServiceStub]:
    """Connect over TLS, with a client certificate if one is given."""
    credentials = grpc.ssl_channel_credentials(
        trusted.read_bytes(),
        client.key.read_bytes() if client else None,
        client.certificate.read_bytes() if client else None,
    )
    with grpc.secure_channel(address, credentials) as channel:
        yield GuardServiceStub(channel)


def status(connected: GuardServiceStub, request: pb.ValidateRequest) -> grpc.StatusCode | None:
    """Return why a call failed, None when it was answered."""
    try:
        connected.Validate(request, timeout=TIMEOUT)
    except grpc.RpcError as failure:
        return failure.code()
    return None


@pytest.mark.exhaustive
def test_clients_that_trust_the_ca_are_served(serve: Serve, ask: Ask, ca: trustme.CA, tmp_path: Path) -> None:
    server = issue(ca, tmp_path, "server", "127.0.0.1")
    process = serve(*flags(server))
    with stub(process.listen[0], server.ca) as connected:
        assert connected.Validate(ask(), timeout=TIMEOUT).WhichOneof("outcome") == "allowed"
    code, _ = process.terminate()
    assert code == 0


def test_plain_text_and_strangers_are_refused(serve: Serve, ask: Ask, ca: trustme.CA, tmp_path: Path) -> None:
    process = serve(*flags(issue(ca, tmp_path, "server", "127.0.0.1")))
    stranger = issue(trustme.CA(), tmp_path / "stranger", "server", "127.0.0.1")
    with grpc.insecure_channel(process.listen[0]) as channel:
        assert status(GuardServiceStub(channel), ask()) is grpc.StatusCode.UNAVAILABLE
    with stub(process.listen[0], stranger.ca) as connected:
        assert status(connected, ask()) is grpc.StatusCode.UNAVAILABLE
    assert process.records() == []


@pytest.mark.exhaustive
def test_a_client_must_show_a_certificate_of_the_ca(
    serve: Serve, ask: Ask, ca: trustme.CA, tmp_path: Path
) -> None:
    server = issue(ca, tmp_path, "server", "127.0.0.1")
    client = issue(ca, tmp_path, "client", "dispatcher@example.org")
    expired = issue(ca, tmp_path, "expired", "dispatcher@example.org", expired=True)
    stranger = issue(trustme.CA(), tmp_path / "stranger", "client", "dispatcher@example.org")
    process = serve(*flags(server, "--client-ca", str(server.ca)))
    with stub(process.listen[0], server.ca, client) as connected:
        assert status(connected, ask()) is None
    for refused in (None, expired, stranger):
        with stub(process.listen[0], server.ca, refused) as connected:
            assert status(connected, ask()) is grpc.StatusCode.UNAVAILABLE
    assert [record["principal"] for record in process.records()] == ["cert:dispatcher@example.org"]


@pytest.mark.exhaustive
def test_new_files_are_taken_and_broken_ones_are_not(
    serve: Serve, ask: Ask, ca: trustme.CA, tmp_path: Path
) -> None:
    server = issue(ca, tmp_path, "server", "127.0.0.1")
    # gRPC fetches new certificates for each socket separately.
    process = serve(*flags(server), "--listen", "127.0.0.1:0", "--listen", "127.0.0.1:0")
    places = [(host, int(port)) for host, _, port in (each.rpartition(":") for each in process.listen)]

    def shown() -> set[str]:
        return {ssl.get_server_certificate(place, timeout=TIMEOUT) for place in places}

    before = shown()
    issue(ca, tmp_path, "server", "127.0.0.1")
    process.says("new TLS files are in force")
    (after,) = shown()
    assert after not in before
    assert after in server.certificate.read_text(encoding="ascii")
    server.certificate.write_text("no certificate", encoding="ascii")
    process.says("the changed TLS files are rejected")
    assert shown() == {after}
    with stub(process.listen[0], server.ca) as connected:
        assert status(connected, ask()) is None
    code, _ = process.terminate()
    assert code == 0
    kept = hashlib.sha256(ssl.PEM_cert_to_DER_cert(after)).hexdigest()
    lines = [line for line in process.log_lines() if line["kind"].startswith("tls")]
    assert [(line["kind"], line.get("certificate"), line.get("code")) for line in lines] == [
        ("tls_load", kept, None),
        ("tls_reject", None, "CONFIG_INVALID"),
    ]


def test_an_expired_certificate_and_another_ones_key_are_not_taken(ca: trustme.CA, tmp_path: Path) -> None:
    server = issue(ca, tmp_path, "server", "127.0.0.1")
    certificates = Certificates(TlsFiles(server.certificate, server.key, server.ca))
    log = tmp_path / "audit.jsonl"
    with AuditLog.open(log) as audit_log:
        assert certificates.reload(audit_log)
        issue(ca, tmp_path, "server", "127.0.0.1", expired=True)
        assert certificates.reload(audit_log)
        issue(ca, tmp_path, "server", "127.0.0.1")
        server.key.write_bytes(issue(ca, tmp_path, "other", "127.0.0.1").key.read_bytes())
        assert certificates.reload(audit_log)
        issue(ca, tmp_path, "server", "127.0.0.1")
        assert certificates.reload(audit_log)
        opened(issue(ca, tmp_path, "server", "127.0.0.1"), 0o640)
        assert certificates.reload(audit_log)
        server.key.unlink()
        assert certificates.reload(audit_log)
    kinds = [json.loads(line)["kind"] for line in log.read_text(encoding="utf-8").splitlines()]
    assert kinds == ["tls_reject", "tls_reject", "tls_load", "tls_reject", "tls_reject"]


def test_certificates_whose_record_cannot_be_written_wait(ca: trustme.CA, tmp_path: Path) -> None:
    server = issue(ca, tmp_path, "server", "127.0.0.1")
    certificates = Certificates(TlsFiles(server.certificate, server.key))
    log = tmp_path / "audit.jsonl"
    with AuditLog.open(log) as audit_log:
        issue(ca, tmp_path, "server", "127.0.0.1")
        audit_log.close()
        assert not certificates.reload(audit_log)
    with AuditLog.open(log) as audit_log:
        assert certificates.reload(audit_log)
    assert [json.loads(line)["kind"] for line in log.read_text(encoding="utf-8").splitlines()] == ["tls_load"]


def refused_start(tmp_path: Path, *options: str) -> tuple[int, str]:
    """Run ``evalward serve`` to its end."""
    command = [
        str(Path(sys.executable).with_name("evalward")),
        "serve",
        "--audit-log",
        str(tmp_path / "audit.jsonl"),
        *options,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout == ""
    return done.returncode, done.stderr


def broken(ca: trustme.CA, folder: Path) -> dict[str, list[str]]:
    """Return settings that must stop the start."""
    server = issue(ca, folder, "server", "127.0.0.1")
    other = issue(ca, folder, "other", "127.0.0.1")
    expired = issue(ca, folder, "expired", "127.0.0.1", expired=True)
    text = folder / "text.pem"
    text.write_text("not a certificate", encoding="ascii")
    return {
        "key of another certificate": flags(Files(server.ca, server.certificate, other.key)),
        "expired": flags(expired),
        "missing certificate": flags(Files(server.ca, folder / "none.pem", server.key)),
        "missing key": flags(Files(server.ca, server.certificate, folder / "none.key")),
        "no certificate": flags(Files(server.ca, text, server.key)),
        "no CA": flags(server, "--client-ca", str(text)),
        "key that its group may read": flags(opened(issue(ca, folder, "group", "127.0.0.1"), 0o640)),
        "key that all may read": flags(opened(issue(ca, folder, "all", "127.0.0.1"), 0o604)),
    }


def opened(files: Files, mode: int) -> Files:
    files.key.chmod(mode)
    return files


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    "name",
    [
        "key of another certificate",
        "expired",
        "missing certificate",
        "missing key",
        "no certificate",
        "no CA",
        "key that its group may read",
        "key that all may read",
    ],
)
def test_a_broken_setting_stops_the_start(ca: trustme.CA, tmp_path: Path, name: str) -> None:
    code, stderr = refused_start(tmp_path, *broken(ca, tmp_path)[name])
    assert code == 3
    assert "CONFIG_INVALID: TLS: " in stderr


@pytest.mark.exhaustive
def test_half_a_setting_is_a_usage_error(ca: trustme.CA, tmp_path: Path) -> None:
    server = issue(ca, tmp_path, "server", "127.0.0.1")
    for half in (["--tls-cert", server.certificate], ["--tls-key", server.key], ["--client-ca", server.ca]):
        code, stderr = refused_start(tmp_path, "--listen", "127.0.0.1:0", *map(str, half))
        assert code == 2
        assert "--tls-cert and --tls-key" in stderr


@pytest.mark.exhaustive
def test_without_tls_other_machines_need_the_operators_word(serve: Serve, tmp_path: Path) -> None:
    code, stderr = refused_start(tmp_path, "--listen", "0.0.0.0:0")
    assert code == 3
    assert "--insecure-remote" in stderr
    process = serve("--listen", "0.0.0.0:0", "--insecure-remote")
    assert process.log_lines()[0]["weakened"] == ["insecure-remote"]
