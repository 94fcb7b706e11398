"""``evalward health`` over TLS and mutual TLS, against a real server; a token is never needed."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trustme

EVALWARD = Path(sys.executable).with_name("evalward")
Probe = Callable[..., subprocess.CompletedProcess[str]]


def probe(*arguments: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [EVALWARD, "health", *arguments, "--timeout", "10"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={"PATH": "/usr/bin:/bin", **variables},
    )


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """Return the files of a server with mutual TLS and a token, and of its client."""
    ca = trustme.CA()
    made = {name: tmp_path / name for name in ("ca", "server", "server.key", "client", "client.key", "token")}
    ca.cert_pem.write_to_path(made["ca"])
    for name in ("server", "client"):
        issued = ca.issue_cert("guard.test" if name == "server" else "probe.test")
        issued.private_key_pem.write_to_path(made[f"{name}.key"])
        made[name].write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
    made["token"].write_text("t" * 43 + "\n")
    for name in ("token", "server.key", "client.key"):
        made[name].chmod(0o600)
    return made


@pytest.fixture
def address(files: dict[str, Path], serve: Callable[..., Any]) -> str:
    running = serve(
        *("--listen", "127.0.0.1:0", "--client-ca", files["ca"], "--token-file", files["token"]),
        *("--tls-cert", files["server"], "--tls-key", files["server.key"]),
    )
    return str(running.listen[0])


@pytest.mark.exhaustive
def test_a_server_with_mutual_tls_and_a_token_is_probed(address: str, files: dict[str, Path]) -> None:
    shown = ("--cert", files["client"], "--key", files["client.key"])
    named = ("--ca", files["ca"], "--server-name", "guard.test")

    done = probe(address, *named, *shown)
    assert (done.returncode, done.stdout) == (0, f"{address} is serving\n")
    variables = {
        "EVALWARD_ADDRESS": f"tls:{address}",
        "EVALWARD_HEALTH_CA": str(files["ca"]),
        "EVALWARD_HEALTH_CERT": str(files["client"]),
        "EVALWARD_HEALTH_KEY": str(files["client.key"]),
        "EVALWARD_HEALTH_SERVER_NAME": "guard.test",
    }
    assert probe(**variables).returncode == 0


@pytest.mark.exhaustive
def test_a_probe_that_fails_over_tls_says_what_to_give(address: str, files: dict[str, Path]) -> None:
    shown = ("--cert", files["client"], "--key", files["client.key"])
    named = ("--ca", files["ca"], "--server-name", "guard.test")

    for less, says in (
        (named, "Give certificate and key"),
        (("--ca", files["ca"], *shown), "its certificate is for another name"),
        ((*named[2:], *shown), "Give the authority's certificate as ca"),
        ((), "Write tls:HOST:PORT, and give the certificates."),
    ):
        done = probe(address, *less)
        assert (done.returncode, done.stdout) == (3, "")
        assert f"{address} is not serving (UNAVAILABLE: " in done.stderr
        assert says in done.stderr


def test_a_probe_of_nothing_says_that_nobody_listens(tmp_path: Path) -> None:
    assert "UNAVAILABLE: there is no socket at this path" in probe(f"unix:{tmp_path}/none").stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["127.0.0.1:1", "--cert", "x"], "--cert and --key require each other"),
        (["127.0.0.1:1", "--ca", "/no/such/file"], "cannot read /no/such/file"),
        (["unix:/run/x", "--ca", "x"], "a Unix socket has no TLS"),
    ],
)
def test_half_of_a_setting_is_a_usage_error(arguments: list[str], says: str) -> None:
    done = probe(*arguments)

    assert done.returncode == 2
    assert says in done.stderr
