"""TCP, TLS and Unix sockets, the address from the environment, and the token."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest
import trustme
from fake_guard import RPCS, Requester, assert_denied, is_allowed, question, true_allow

from evalward.client import AsyncGuardClient, GuardClient, Tls
from evalward.client.address import Address

ServeFake = Callable[..., str]


def allow(request: Any, _: grpc.ServicerContext) -> Any:
    return true_allow(request)


def test_over_a_unix_socket(requester: Requester, serve_fake: ServeFake, tmp_path: Path) -> None:
    address = serve_fake(allow, address=f"unix:{tmp_path}/guard.sock")

    (reply,) = requester(address, question("Validate"), timeout=10)

    assert is_allowed(reply)


def test_the_address_comes_from_the_environment(
    requester: Requester, serve_fake: ServeFake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVALWARD_ADDRESS", serve_fake(allow))

    (reply,) = requester(None, question("Validate"), timeout=10)

    assert is_allowed(reply)


@pytest.fixture
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def tls_files(authority: trustme.CA, tmp_path: Path) -> dict[str, Path]:
    """Write an authority's certificate, a client's certificate and its key; return their paths."""
    files = {name: tmp_path / f"{name}.pem" for name in ("ca", "certificate", "key")}
    client = authority.issue_cert("client@guard.test")
    authority.cert_pem.write_to_path(str(files["ca"]))
    client.cert_chain_pems[0].write_to_path(str(files["certificate"]))
    files["key"].touch(0o600)
    client.private_key_pem.write_to_path(str(files["key"]))
    return files


def credentials(
    authority: trustme.CA, *, demand: bool = False, name: str = "127.0.0.1"
) -> grpc.ServerCredentials:
    server = authority.issue_cert(name)
    pair = (server.private_key_pem.bytes(), server.cert_chain_pems[0].bytes())
    return grpc.ssl_server_credentials(
        [pair], root_certificates=authority.cert_pem.bytes(), require_client_auth=demand
    )


@pytest.mark.parametrize("certified", ["server", "both"])
def test_over_tls(
    certified: str,
    requester: Requester,
    serve_fake: ServeFake,
    authority: trustme.CA,
    tls_files: dict[str, Path],
) -> None:
    address = serve_fake(allow, credentials=credentials(authority, demand=certified == "both"))
    tls = Tls(ca=tls_files["ca"])
    if certified == "both":
        tls = Tls(tls_files["ca"], tls_files["certificate"], tls_files["key"])

    (reply,) = requester(address, question("Validate"), timeout=10, connect_timeout=10, tls=tls)

    assert is_allowed(reply)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
@pytest.mark.parametrize("client", [GuardClient, AsyncGuardClient])
def test_a_key_that_others_may_touch_is_not_used(client: Any, mode: int, tls_files: dict[str, Path]) -> None:
    tls_files["key"].chmod(mode)

    with pytest.raises(PermissionError, match=f"its mode is {mode:04o} and must be 0600"):
        client("127.0.0.1:1", tls=Tls(tls_files["ca"], tls_files["certificate"], tls_files["key"]))


def test_the_name_in_the_certificate_may_be_another_than_the_addresss(
    requester: Requester, serve_fake: ServeFake, authority: trustme.CA, tls_files: dict[str, Path]
) -> None:
    address = serve_fake(allow, credentials=credentials(authority, name="guard.test"))
    tls = Tls(ca=tls_files["ca"], server_name="guard.test")

    (reply,) = requester(address, question("Validate"), timeout=10, connect_timeout=10, tls=tls)

    assert is_allowed(reply)


def test_a_stranger_with_another_certificate_is_a_denial(
    requester: Requester, serve_fake: ServeFake, tls_files: dict[str, Path]
) -> None:
    address = serve_fake(allow, credentials=credentials(trustme.CA()))

    for where, tls in ((address, Tls(ca=tls_files["ca"])), (f"tls:{address}", None)):
        (reply,) = requester(where, question("Validate"), connect_timeout=0.3, tls=tls)

        assert_denied(reply, says="cannot be reached")


def test_plain_text_is_no_tls(
    requester: Requester, serve_fake: ServeFake, tls_files: dict[str, Path]
) -> None:
    (reply,) = requester(
        serve_fake(allow), question("Validate"), connect_timeout=0.3, tls=Tls(ca=tls_files["ca"])
    )

    assert_denied(reply, says="cannot be reached")


def test_the_token_goes_with_every_call_over_a_unix_socket(
    requester: Requester, serve_fake: ServeFake, tmp_path: Path
) -> None:
    def answer(request: Any, context: grpc.ServicerContext) -> Any:
        if ("authorization", "Bearer s3cret") not in context.invocation_metadata():
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "no")
        return true_allow(request)

    address = serve_fake(answer, address=f"unix:{tmp_path}/guard.sock")

    for rpc in ("Validate", "ValidateCall", "Evaluate"):
        assert is_allowed(requester(address, question(rpc), timeout=10, token="s3cret")[0])
    assert_denied(requester(address, question("Validate"), timeout=10)[0], code="UNAUTHENTICATED")


@dataclass
class Restarting:
    """A link to a guard whose process is replaced during a call, or is restarting."""

    address: Address
    run: int = 1
    why: str | None = None

    def absence(self) -> str | None:
        return self.why


@pytest.mark.parametrize(
    ("run", "why", "code"),
    [
        (2, None, "SERVICE_UNREACHABLE"),
        (1, "It is being started.", "SERVICE_UNREACHABLE"),
        (1, None, "UNAUTHENTICATED"),
    ],
)
def test_a_new_process_that_refuses_the_token_of_the_one_before_it_may_be_asked_again(
    run: int, why: str | None, code: str, requester: Requester, serve_fake: ServeFake
) -> None:
    def answer(_: Any, context: grpc.ServicerContext) -> Any:
        link.run, link.why = run, why
        context.abort(grpc.StatusCode.UNAUTHENTICATED, "no")

    link = Restarting(Address(serve_fake(answer), token="of-run-1"))
    for rpc in RPCS:
        link.run, link.why = 1, None
        assert_denied(requester(link, question(rpc), timeout=10)[0], code=code)


@pytest.mark.parametrize(
    ("address", "options"),
    [
        ("guard.test:7443", {}),
        ("10.0.0.1:7443", {}),
        ("[2001:db8::1]:7443", {}),
        ("127.0.0.1", {}),
        ("127.0.0.1:http", {}),
        (":7443", {}),
        ("unix:/run/guard.sock", {"tls": Tls()}),
        ("127.0.0.1:7443", {"token": "two words"}),
        ("127.0.0.1:7443", {"token": ""}),
        ("127.0.0.1:7443", {"token": "l\n"}),
    ],
)
@pytest.mark.parametrize("client", [GuardClient, AsyncGuardClient])
def test_an_address_that_could_be_anybody_is_refused(
    client: type[Any], address: str, options: dict[str, Any]
) -> None:
    with pytest.raises(ValueError, match=r"tls|TLS|HOST:PORT|token"):
        client(address, **options)


@pytest.mark.parametrize("address", ["localhost:1", "127.0.0.9:1", "[::1]:1", "tls:guard.test:1"])
def test_loopback_and_tls_are_taken(address: str) -> None:
    GuardClient(address).close()


def test_a_certificate_that_cannot_be_read_is_no_client(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        GuardClient("127.0.0.1:7443", tls=Tls(ca=tmp_path / "none.pem"))
