"""``evalward serve --fronts``: the supervisor's process, and the settings that a front has from its role."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from evalward.audit import STDOUT
from evalward.cli.guard_values import MOST_WORKERS
from evalward.cli.serve_process import announce, signals_held
from evalward.judging.workers.cores import available_cores
from evalward.server.addresses import ListenError, TcpAddress, UnixAddress, parse_listen
from evalward.server.fronts.front_role import FrontRole, is_front, log_of
from evalward.server.lifecycle.parent_pipe import when_closed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evalward.server.fronts.front_process import FrontProcess

Address = TcpAddress | UnixAddress


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where one server, or several fronts together, listen and log; ``token`` is that of ``--parent``."""

    listen: tuple[Address, ...]
    hooks: tuple[Address, ...]
    admin: Address | None
    audit_log: Path
    share_port: bool
    token: str | None

    def of(self, role: FrontRole | None) -> Place:
        """Return what the front with ``role`` has instead; None: no front, this place itself."""
        if role is None:
            return self
        return replace(
            self,
            listen=tuple(map(parse_listen, role.listen)),
            hooks=self.hooks if role.serves_hooks else (),
            admin=None if self.admin is None else UnixAddress(role.admin),
            audit_log=role.audit_log,
            share_port=True,
            token=role.token,
        )


def fronts(text: str) -> int:
    """Return the number of ``--fronts``; ``auto`` is one per core of the quota."""
    if text == "auto":
        return available_cores()
    if text.isascii() and text.isdigit() and 1 <= int(text) <= MOST_WORKERS:
        return int(text)
    raise typer.BadParameter(f"--fronts is a number from 1 to {MOST_WORKERS}, or auto")


def role() -> FrontRole | None:
    """Return the role of this process, None unless a supervisor has started it; raise NoRoleError."""
    if not is_front():
        return None
    # The supervisor's mask is inherited, and a front's own children must not miss the signal.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
    return FrontRole.read(sys.stdin.buffer)


def supervise(place: Place, count: int, *, drain_seconds: float) -> bool:
    """Run ``count`` fronts until SIGTERM or SIGINT; return whether all ended by themselves, with exit code 0.

    Raises ListenError, FrontFailedError, OSError.
    """
    # A front itself, and a server without fronts, do without a supervisor's imports.
    from evalward.server.fronts.front_process import FrontProcess  # noqa: PLC0415
    from evalward.server.fronts.supervisor import Supervisor  # noqa: PLC0415

    listen = _shareable(place)
    with (
        signals_held(Supervisor.HELD),
        _ports(listen) as addresses,
        tempfile.TemporaryDirectory(prefix="evalward-") as private,
    ):
        roles = [
            FrontRole(
                number=number,
                listen=tuple(addresses),
                audit_log=log_of(place.audit_log, number),
                admin=Path(private) / f"front-{number}.sock",
                serves_hooks=number == 1,
                token=place.token,
            )
            for number in range(1, count + 1)
        ]
        processes = [FrontProcess(role, _command()) for role in roles]
        supervisor = Supervisor(processes, drain_seconds=drain_seconds)
        with _admin(place.admin, processes) as admin:
            first, *_ = supervisor.start()
            hooks = [*first.get("hooks", ())]
            announce([*first["listen"]], place.audit_log, admin=admin, hooks=hooks, fronts=count)
            if place.token is not None:
                when_closed(sys.stdin.buffer, lambda: os.kill(os.getpid(), signal.SIGTERM))
            supervisor.run()
            return supervisor.stop()


def _shareable(place: Place) -> list[TcpAddress]:
    """Return the addresses that several fronts can share; reject all else."""
    if str(place.audit_log) == STDOUT:
        raise typer.BadParameter("--fronts needs a file for each audit log, not standard output")
    for address in place.listen:
        if isinstance(address, UnixAddress):
            raise typer.BadParameter(
                f"--fronts shares TCP ports, and {address} has one server: remove it, or set --fronts 1"
            )
    return [address for address in place.listen if isinstance(address, TcpAddress)]


def _command() -> list[str]:
    """Return the command of this process: a front reads the same flags, variables and file."""
    return [sys.executable, "-P", "-m", "evalward", *sys.argv[1:]]


@contextlib.contextmanager
def _ports(addresses: Sequence[TcpAddress]) -> Iterator[list[str]]:
    """Yield the addresses with a free port in place of port 0, which stays reserved; raise ListenError."""
    with contextlib.ExitStack() as stack:
        yield [str(_reserved(each, stack) if each.port == 0 else each) for each in addresses]


def _reserved(address: TcpAddress, stack: contextlib.ExitStack) -> TcpAddress:
    # A socket that is bound and does not listen gets no connection.
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM
        )[0]
        reserved = stack.enter_context(socket.socket(family, kind, protocol))
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        reserved.bind(where)
    except OSError as failure:
        raise ListenError(f"cannot bind {address}: {failure.strerror}") from failure
    return TcpAddress(address.host, reserved.getsockname()[1])


@contextlib.contextmanager
def _admin(address: Address | None, processes: Sequence[FrontProcess]) -> Iterator[str | None]:
    """Serve the joined pages meanwhile, and yield the address; raise ListenError."""
    if address is None:
        yield None
        return
    # Loads the Prometheus client, which takes 30 ms.
    from evalward.server.fronts.joined_pages import joined_pages  # noqa: PLC0415
    from evalward.server.observe.admin_listener import AdminListener  # noqa: PLC0415

    listener = AdminListener(address, joined_pages(processes))
    listener.start()
    try:
        yield listener.address
    finally:
        listener.close()
