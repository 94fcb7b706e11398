"""With ``peer_uid`` a client takes its socket only from that user, in a folder where no other can replace it."""

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest
from fake_guard import POLICY_DIGEST, Requester, assert_denied, is_allowed, question, true_allow

from evalward.client.peer import SocketOwner, WrongPeer

ServeFake = Callable[..., str]


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
    address = serve_fake(lambda request, _: true_allow(request), address=f"unix:{folder}/guard.sock")
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
