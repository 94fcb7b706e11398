"""A playground that is served to a test, and the pieces that it works on."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import uvicorn

from evalward.audit import AuditKey
from evalward.audit.chain import GENESIS, Head, link, members
from evalward.audit.decision_record import decision_record
from evalward.audit.files import LogFile
from evalward.audit.record import AuditRecord
from evalward.audit.record_values import Kind, Reason
from evalward.corpus.corpus_case import Case
from evalward.errors import Provenance
from evalward.guard.target import Target
from evalward.playground.app import Playground, playground_app
from evalward.playground.log_view import LogView
from evalward.policy import Policy, judge_under

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TOKEN = "a-token"
KEY = AuditKey(bytes(range(32)))
POLICY = Policy.default().allowing(Target)
BEGIN = 1_770_000_000
PAYLOADS = [
    *("document.title", "process['ex' + 'it'](0)", "eval(location.hash)", "1 + 1", "setTimeout('a()')"),
    *("new Function('1')", "fetch('/x')", "with (a) b", "'__proto__'", "new Worker('a.js')", "open('x')"),
]
CASES = [
    {"id": "exit/concat", "code": "process['ex' + 'it'](0)", "target": "main", "expect": "block"},
    {"id": "page/send", "code": "fetch('/x')", "target": "renderer", "expect": "allow"},
    {"id": "page/title", "code": "document.title", "target": "renderer", "expect": "allow"},
]


class Served(NamedTuple):
    """The address of the page, without and with its token."""

    origin: str
    port: int
    url: str


@contextmanager
def served(playground: Playground) -> Iterator[Served]:
    """Serve ``playground`` on a free port of this machine."""
    app = playground_app(playground, token=TOKEN, nonce="a-nonce")
    config = uvicorn.Config(
        app, port=0, access_log=False, log_level="error", lifespan="off", ws="none", server_header=False
    )
    server = uvicorn.Server(config)
    started = threading.Event()
    startup = server.startup

    async def report(*arguments: Any, **options: Any) -> None:
        await startup(*arguments, **options)
        started.set()

    server.startup = report  # type: ignore[method-assign]  # the only way to know without polling
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        assert started.wait(30)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield Served(f"http://127.0.0.1:{port}", port, f"http://127.0.0.1:{port}/{TOKEN}/")
    finally:
        server.should_exit = True
        thread.join(30)


def playground_of(log: LogView | None = None) -> Playground:
    """Return a playground with a small corpus."""
    cases = [Case.model_validate(each) for each in CASES]
    return Playground(version="0.1.0", cases=cases, log=log)


def audit_log(path: Path, count: int = 400) -> LogView:
    """Write a log of real decisions to ``path``, one every 20 minutes, and return its view."""
    verdicts = [
        judge_under(POLICY, payload.encode(), target=target, shape=None)
        for payload in PAYLOADS
        for target in (Target.MAIN, Target.RENDERER)
    ]
    provenance = Provenance("0.1.0", "a" * 64, "b" * 16, "tree-sitter-javascript 0.25.0")
    found = [
        AuditRecord(kind=Kind.START, version="0.1.0", key_id=KEY.id, weakened=("enforcement-audit=main",))
    ]
    for number in range(count):
        verdict = verdicts[number * number % len(verdicts)]
        found.append(
            decision_record(
                verdict,
                decision_id=f"{number:032x}",
                provenance=provenance,
                elapsed_us=300 + number * 37 % 2000,
                principal=f"cert:{('dispatcher', 'ci')[number % 2]}",
                tool=("browser_evaluate", "electron_eval", "run_script")[number % 3],
            )
        )
    found.append(AuditRecord(kind=Kind.GAP, reason=Reason.FULL, unrecorded=2, gap_us=1_500_000))
    head = Head("0" * 32, 0, GENESIS)
    with path.open("wb") as out:
        for number, record in enumerate(found):
            moment = (BEGIN + 1200 * number) * 10**9
            line, head = link(head, members(record), boot_id="0" * 32, key=KEY, nanoseconds=moment)
            out.write(line)
    return LogView([LogFile(path.name, path.open("rb"))], KEY, None)
