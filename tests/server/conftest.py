"""Servers under test: in this process with the test's own judge, and as a real process."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest

from evalward.audit import AuditLog
from evalward.errors import Code, Provenance
from evalward.guard.rules import Rules
from evalward.guard.target import Shape, Target
from evalward.guard.verdict import Verdict
from evalward.policy import Policy
from evalward.server.addresses import parse_listen
from evalward.server.decide.evaluator import Runner
from evalward.server.lifecycle.policy_reload import PolicyFile
from evalward.server.lifecycle.sidecar import Server
from evalward.server.observe.observer import Observer
from evalward.server.settings import Settings
from evalward.server.transport.token_gate import Tokens
from evalward.tools import Manifest
from evalward.tools.servers import Servers
from evalward.v1 import evalward_pb2 as pb
from evalward.v1.evalward_pb2_grpc import GuardServiceStub

EVALWARD = Path(sys.executable).with_name("evalward")
POLICY = Policy.default().allowing([Target.RENDERER])
PROVENANCE = Provenance("0.0.0", POLICY.digest, "0" * 12, "tree-sitter-javascript 0.25.0")


def verdict(  # noqa: PLR0913 - the parameters of the judge
    payload: bytes,
    *,
    target: Target,
    shape: Shape | None,
    rules: Rules,
    sink: str | None = None,
    readings: object = None,  # noqa: ARG001 - what the judge has parsed, for the emitter
) -> Verdict:
    """Allow every payload except those that begin with ``block``."""
    blocked = payload.startswith(b"block")
    return Verdict(
        code=Code.EVAL_BLOCKED_CONSTRUCT if blocked else None,
        target=target,
        shape=shape,
        profile=rules.profile,
        code_hash=hashlib.sha256(payload).hexdigest(),
        code_length=len(payload),
        construct="process.exit" if blocked else None,
        sink=sink,
    )


class Gate:
    """A judge that blocks until the test releases it."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.leave = threading.Event()

    def judge(self, payload: bytes, **rest: Any) -> Verdict:
        self.entered.set()
        assert self.leave.wait(30)
        return verdict(payload, **rest)


@pytest.fixture
def easy_judge() -> Callable[..., Verdict]:
    """Return the judge of the servers that ``start`` makes."""
    return verdict


@pytest.fixture
def gate() -> Iterator[Gate]:
    made = Gate()
    yield made
    made.leave.set()


@dataclass
class Running:
    """A running server: its stub, its channel and its log."""

    server: Server
    address: str
    channel: grpc.Channel
    stub: GuardServiceStub
    log: Path
    stopped: bool = False

    def stop(self) -> None:
        if not self.stopped:
            self.stopped = True
            self.server.stop()

    def records(self) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in self.log.read_text().splitlines()]
        return [line for line in lines if line["kind"] in {"decision", "evaluation"}]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    """Start servers in this process; they stop at the end of the test."""
    with ExitStack() as stack:

        def begin(  # noqa: PLR0913 - the parts of a server
            judge: Callable[..., Verdict] = verdict,
            settings: Settings | None = None,
            *,
            policy: Policy = POLICY,
            runner: Runner | None = None,
            manifest: Manifest | None = None,
            token: str | None = None,
            observers: Sequence[Observer] = (),
            policy_file: PolicyFile | None = None,
            servers: Servers | None = None,
        ) -> Running:
            log = tmp_path / "audit.jsonl"
            server = Server(
                judge,
                policy=policy,
                provenance=PROVENANCE,
                audit_log=AuditLog.open(log),
                settings=settings or Settings(),
                runner=runner,
                manifest=manifest,
                servers=servers,
                observers=observers,
                policy_file=policy_file,
                tokens=None if token is None else Tokens([token]),
            )
            address = server.start([parse_listen("127.0.0.1:0")])[0]
            channel = stack.enter_context(grpc.insecure_channel(address))
            running = Running(server, address, channel, GuardServiceStub(channel), log)
            stack.callback(running.stop)
            return running

        yield begin


@dataclass
class Process:
    """A real ``evalward serve``; ``listen`` holds its addresses in the order of its flags."""

    popen: subprocess.Popen[str]
    ready: dict[str, Any]
    log: Path

    @property
    def listen(self) -> list[str]:
        return list(self.ready["listen"])

    def terminate(self) -> tuple[int, str]:
        """Send SIGTERM; return the exit code and the text on stderr."""
        self.popen.send_signal(signal.SIGTERM)
        _, stderr = self.popen.communicate(timeout=30)
        return self.popen.returncode, stderr

    def log_lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    def records(self) -> list[dict[str, Any]]:
        return [line for line in self.log_lines() if line["kind"] in {"decision", "evaluation"}]

    def says(self, text: str) -> str:
        """Wait for the line on stderr with ``text``; kill the server if it does not appear."""
        assert self.popen.stderr is not None
        limit = threading.Timer(60, self.popen.kill)
        limit.start()
        try:
            line = next((line for line in self.popen.stderr if text in line), None)
        finally:
            limit.cancel()
        assert line is not None, f"never said: {text}"
        return line


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Process]]:
    """Start real servers, each in its own directory; those that still run at the end are killed."""
    with ExitStack() as stack:

        def begin(*flags: str, log: Path | None = None) -> Process:
            log = log or tmp_path / "audit.jsonl"
            popen = stack.enter_context(
                subprocess.Popen(
                    [EVALWARD, "serve", "--audit-log", log, *flags],
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                    cwd=tmp_path,
                    env={
                        name: value for name, value in os.environ.items() if not name.startswith("EVALWARD_")
                    },
                )
            )
            stack.callback(popen.kill)
            assert popen.stdout is not None
            line = popen.stdout.readline()
            assert line, popen.communicate()[1]
            return Process(popen, json.loads(line), log)

        yield begin


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Return an OpenTelemetry collector to which servers with ``--traces`` send."""
    from otlp import Collector  # noqa: PLC0415 - few tests need OpenTelemetry

    made = Collector()
    server = grpc.server(ThreadPoolExecutor(2))
    made.add_to(server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{port}")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "guard-of-test")
    yield made
    server.stop(None).wait()


@pytest.fixture
def stub_at() -> Iterator[Callable[[str], GuardServiceStub]]:
    """Return a stub for an address; its channel is closed at the end."""
    with ExitStack() as stack:
        yield lambda address: GuardServiceStub(stack.enter_context(grpc.insecure_channel(address)))


@pytest.fixture
def ask() -> Callable[..., pb.ValidateRequest]:
    """Return a request for the renderer, which the servers here opt in."""

    def request(code: bytes = b"document.title", **fields: Any) -> pb.ValidateRequest:
        return pb.ValidateRequest(**{"code": code, "target": pb.TARGET_RENDERER, **fields})

    return request
