import socket
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest

from evalward.server.addresses import ListenError, TcpAddress, UnixAddress, parse_listen
from evalward.server.transport.listener import Listener


@pytest.fixture
def listener() -> Iterator[Listener]:
    made = Listener(grpc.server(ThreadPoolExecutor(1)))
    yield made
    made.close()


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:7443", TcpAddress("127.0.0.1", 7443)),
        ("127.8.9.1:0", TcpAddress("127.8.9.1", 0)),
        ("[::1]:0", TcpAddress("::1", 0)),
        ("localhost:65535", TcpAddress("localhost", 65535)),
        ("unix:/run/e.sock", UnixAddress(Path("/run/e.sock"))),
        ("unix:///run/e.sock", UnixAddress(Path("/run/e.sock"))),
        ("unix:e.sock", UnixAddress(Path.cwd() / "e.sock")),
    ],
)
def test_addresses_are_read(text: str, address: TcpAddress | UnixAddress) -> None:
    assert parse_listen(text) == address


@pytest.mark.parametrize("host", ["0.0.0.0", "[::]", "192.0.2.7", "[::ffff:192.0.2.7]", "[::ffff:127.0.0.1]"])
def test_addresses_beyond_loopback_are_refused_without_tls(listener: Listener, host: str) -> None:
    address = parse_listen(f"{host}:0")
    with pytest.raises(ListenError, match="--tls-cert"):
        listener.bind(address)


@pytest.mark.parametrize("host", ["example.org", "127.0.0.1.nip.io"])
def test_a_name_is_refused(host: str) -> None:
    with pytest.raises(ListenError, match="localhost or an IP address"):
        parse_listen(f"{host}:7443")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "7443",
        ":7443",
        "127.0.0.1:",
        "127.0.0.1:x",
        "127.0.0.1:65536",
        "127.0.0.1:-1",
        "127.0.0.1:²",
        "unix:",
        "unix:a\0b",
    ],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ListenError):
        parse_listen(text)


def test_a_tcp_address_gets_its_real_port(listener: Listener) -> None:
    host, _, port = listener.bind(TcpAddress("127.0.0.1", 0)).rpartition(":")

    assert host == "127.0.0.1"
    assert int(port) > 0


def test_a_taken_port_is_refused(listener: Listener) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(ListenError, match="cannot bind"):
        listener.bind(TcpAddress("127.0.0.1", taken.getsockname()[1]))


def test_a_unix_socket_is_0660_and_goes_away(listener: Listener, tmp_path: Path) -> None:
    path = tmp_path / "e.sock"
    assert listener.bind(UnixAddress(path)) == f"unix:{path}"

    assert stat.S_ISSOCK(path.stat().st_mode)
    assert stat.S_IMODE(path.stat().st_mode) == 0o660
    listener.close()
    assert not path.exists()


@pytest.mark.parametrize("mode", [0o600, 0o660, 0o666])
def test_a_unix_socket_has_the_mode_that_was_asked_for(mode: int, tmp_path: Path) -> None:
    listener = Listener(grpc.server(ThreadPoolExecutor(1)), unix_mode=mode)
    listener.bind(UnixAddress(tmp_path / "e.sock"))

    assert stat.S_IMODE((tmp_path / "e.sock").stat().st_mode) == mode
    listener.close()


def test_a_socket_that_is_gone_or_another_is_lost(listener: Listener, tmp_path: Path) -> None:
    path, aside = tmp_path / "e.sock", tmp_path / "aside"
    listener.bind(UnixAddress(path))
    seen = [listener.lost()]

    path.rename(aside)
    seen.append(listener.lost())
    with socket.socket(socket.AF_UNIX) as another:
        another.bind(str(path))
        seen.append(listener.lost())
    path.unlink()
    path.symlink_to(aside)
    seen.append(listener.lost())
    aside.rename(path)
    seen.append(listener.lost())

    assert seen == [[], [path], [path], [path], []]


def test_a_stale_socket_is_cleaned(listener: Listener, tmp_path: Path) -> None:
    path = tmp_path / "e.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))

    listener.bind(UnixAddress(path))

    with socket.socket(socket.AF_UNIX) as probe:
        assert probe.connect_ex(str(path)) == 0


def test_a_live_socket_is_refused_and_stays(listener: Listener, tmp_path: Path) -> None:
    path = tmp_path / "e.sock"
    with socket.socket(socket.AF_UNIX) as live:
        live.bind(str(path))
        live.listen()
        inode = path.stat().st_ino

        with pytest.raises(ListenError, match="another server"):
            listener.bind(UnixAddress(path))

        assert path.stat().st_ino == inode


def test_a_second_server_is_refused_while_the_first_holds_the_lock(
    listener: Listener, tmp_path: Path
) -> None:
    path = tmp_path / "e.sock"
    listener.bind(UnixAddress(path))
    second = Listener(grpc.server(ThreadPoolExecutor(1)))

    with pytest.raises(ListenError, match="another server"):
        second.bind(UnixAddress(path))

    second.close()
    assert path.exists()


def test_a_file_that_is_no_socket_is_refused_and_stays(listener: Listener, tmp_path: Path) -> None:
    path = tmp_path / "e.sock"
    path.write_text("precious")

    with pytest.raises(ListenError, match="not a socket"):
        listener.bind(UnixAddress(path))

    assert path.read_text() == "precious"


def test_a_socket_of_somebody_else_is_not_removed(listener: Listener, tmp_path: Path) -> None:
    path = tmp_path / "e.sock"
    listener.bind(UnixAddress(path))
    path.rename(tmp_path / "moved.sock")
    path.write_text("another server's")

    listener.close()

    assert path.read_text() == "another server's"
