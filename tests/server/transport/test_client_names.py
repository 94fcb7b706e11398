"""``--client-name``: only certificates with a listed name may request a verdict."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from evalward.v1 import evalward_pb2 as pb
from evalward.v1.evalward_pb2_grpc import GuardServiceStub

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

EVALWARD = Path(sys.executable).with_name("evalward")
TIMEOUT = 30


class Network:
    """A CA, a server that admits only the dispatcher, and clients with different certificates."""

    def __init__(self, serve: Callable[..., Any], folder: Path) -> None:
        self.ca = trustme.CA()
        files = {name: folder / name for name in ("ca.pem", "server.pem", "server.key")}
        files["server.key"].touch(0o600)
        server = self.ca.issue_cert("127.0.0.1")
        self.ca.cert_pem.write_to_path(files["ca.pem"])
        server.cert_chain_pems[0].write_to_path(files["server.pem"])
        server.private_key_pem.write_to_path(files["server.key"])
        self.process = serve(
            *("--listen", "127.0.0.1:0", "--listen", f"unix:{folder}/socket", "--allow-eval=renderer"),
            *("--tls-cert", str(files["server.pem"]), "--tls-key", str(files["server.key"])),
            *(
                "--client-ca",
                str(files["ca.pem"]),
                "--client-name",
                "dispatcher.example",
                "--client-name",
                "Second",
                "--error-stats",
            ),
        )

    def issued(self, *names: str, common_name: str | None = None) -> tuple[bytes, bytes]:
        issued = self.ca.issue_cert(*names, common_name=common_name)
        return issued.private_key_pem.bytes(), issued.cert_chain_pems[0].bytes()

    def nameless(self) -> tuple[bytes, bytes]:
        """Return the key and the certificate of a client with neither an alternative nor a common name."""
        key = ec.generate_private_key(ec.SECP256R1())
        model = x509.load_pem_x509_certificate(self.issued("model.example")[1])
        authority = serialization.load_pem_private_key(self.ca.private_key_pem.bytes(), None)
        assert isinstance(authority, ec.EllipticCurvePrivateKey)
        made = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(x509.NameOID.ORGANIZATION_NAME, "nobody")]))
            .issuer_name(model.issuer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(model.not_valid_before_utc)
            .not_valid_after(model.not_valid_after_utc)
            .sign(authority, hashes.SHA256())
        )
        text = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return text, made.public_bytes(serialization.Encoding.PEM)

    def channel(self, key: bytes, certificate: bytes) -> grpc.Channel:
        credentials = grpc.ssl_channel_credentials(self.ca.cert_pem.bytes(), key, certificate)
        return grpc.secure_channel(self.process.listen[0], credentials)


@pytest.fixture
def network(serve: Callable[..., Any], tmp_path: Path) -> Network:
    return Network(serve, tmp_path)


def calls(stub: GuardServiceStub) -> Iterator[Callable[[], Any]]:
    """Yield every RPC that returns a verdict, a run, or the policy."""
    ask = pb.ValidateRequest(code=b"document.title", target=pb.TARGET_RENDERER)
    yield lambda: stub.Validate(ask, timeout=TIMEOUT)
    yield lambda: stub.ValidateBatch(pb.ValidateBatchRequest(items=[ask]), timeout=TIMEOUT)
    yield lambda: stub.ValidateCall(pb.ValidateCallRequest(tool="t", arguments_json=b"{}"), timeout=TIMEOUT)
    yield lambda: [*stub.ValidateStream(iter([pb.ValidateStreamRequest(item=ask)]), timeout=TIMEOUT)]
    yield lambda: stub.Evaluate(pb.EvaluateRequest(code=b"1"), timeout=TIMEOUT)
    yield lambda: stub.GetPolicy(pb.GetPolicyRequest(), timeout=TIMEOUT)
    yield lambda: stub.ListErrorCodes(pb.ListErrorCodesRequest(), timeout=TIMEOUT)
    yield lambda: stub.GetErrorStats(pb.GetErrorStatsRequest(), timeout=TIMEOUT)


def status(call: Callable[[], Any]) -> grpc.StatusCode:
    try:
        call()
    except grpc.RpcError as failure:
        code: grpc.StatusCode = failure.code()
        return code
    return grpc.StatusCode.OK


def test_only_the_listed_names_get_a_verdict(network: Network) -> None:
    permitted = [network.issued("dispatcher.example"), network.issued(common_name="Second")]
    others = [
        network.issued("other.example"),
        # Only the first alternative name counts, as in the log: no other, and no common name.
        network.issued("other.example", "dispatcher.example"),
        network.issued("other.example", common_name="dispatcher.example"),
        network.issued("xdispatcher.example"),
        network.nameless(),
    ]
    for client in permitted:
        with network.channel(*client) as channel:
            assert status(next(calls(GuardServiceStub(channel)))) is grpc.StatusCode.OK
            assert status([*calls(GuardServiceStub(channel))][-3]) is grpc.StatusCode.OK
    for client in others:
        with network.channel(*client) as channel:
            assert status(next(calls(GuardServiceStub(channel)))) is grpc.StatusCode.PERMISSION_DENIED
    records = network.process.records()
    assert [record.get("code") for record in records] == [None, None, *["PERMISSION_DENIED"] * len(others)]
    assert records[2]["principal"] == "cert:other.example"


def test_no_call_goes_around_it(network: Network) -> None:
    with network.channel(*network.issued("other.example")) as channel:
        for call in calls(GuardServiceStub(channel)):
            assert status(call) is grpc.StatusCode.PERMISSION_DENIED


def test_the_unix_socket_is_not_concerned(network: Network, stub_at: Callable[[str], Any]) -> None:
    assert status(next(calls(stub_at(network.process.listen[1])))) is grpc.StatusCode.OK


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--client-name", "dispatcher"], "--client-name requires --client-ca"),
        (["--client-ca", "ca.pem", "--client-name", "two words"], "--client-name must match"),
    ],
)
def test_a_name_that_could_admit_nobody_is_a_usage_error(flags: list[str], says: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [EVALWARD, "serve", *flags, "--tls-cert", "s.pem", "--tls-key", "s.key"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={"TERM": "dumb", "COLUMNS": "200"},
    )
    assert done.returncode == 2
    assert says in done.stderr
