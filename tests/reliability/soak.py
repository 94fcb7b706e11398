"""Hundreds of thousands of mixed requests: memory stays constant, and no payload text leaks.

Every request carries a random marker of 32 characters in strings, identifiers, comments, arguments and results, and
some in fields that must be refused. Afterwards no run of 8 characters of any marker may be in the audit log, in
metrics, in traces, in OpenTelemetry logs, in stderr, on stdout, in the counts of errors or in a status text; replies to
the caller are what they are.

    python tests/reliability/soak.py                     100,000 requests, one JSON object at the end
    python tests/reliability/soak.py --requests 5000
"""

from __future__ import annotations

import os
import random
import re
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
from script import parser, report
from sidecar import sidecar

from evalward.v1 import evalward_pb2 as pb
from evalward.v1.evalward_pb2_grpc import GuardServiceStub

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

MANIFEST = Path(__file__).parents[1] / "data/tools/manifest.yaml"
CLIENTS = 4
WARM_SHARE = 0.2
GROWTH_MB = 5.0
# Eight letters in a row that occur in no log text: any such sequence may be part of a marker.
LETTERS = "GHJKQVWXYZ"
MARKER_LENGTH = 32
RUN = 8
FLAGS = (
    *("--allow-eval=renderer,sandbox", "--manifest", str(MANIFEST), "--error-stats"),
    *("--admin-listen", "127.0.0.1:0", "--traces", "--otel-logs"),
)
# A short queue, so that waiting spans do not look like a leak; surplus spans are dropped.
OTEL = {
    "OTEL_BSP_MAX_QUEUE_SIZE": "256",
    "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "128",
    "OTEL_BSP_SCHEDULE_DELAY": "500",
}
# The expected answers; any other is a fault of the service.
ANSWERS = {"allowed", "error", "DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED"}
# A tenth of a millisecond may be too short to write the record: AUDIT_UNAVAILABLE.
HURRIED_ANSWERS = ANSWERS | {"UNAVAILABLE"}


@dataclass
class Figures:
    """The figures of a run; memory in MB."""

    requests: int = 0
    seconds: float = 0.0
    answers: dict[str, int] = field(default_factory=dict)
    unexpected: list[str] = field(default_factory=list)
    rss_warm_mb: dict[str, float] = field(default_factory=dict)
    rss_end_mb: dict[str, float] = field(default_factory=dict)
    growth_mb: float = 0.0
    scanned_mb: dict[str, float] = field(default_factory=dict)
    leaks: list[str] = field(default_factory=list)
    load_average: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether all conditions were met."""
        answered = sum(self.answers.values()) == self.requests and not self.unexpected
        scanned = min(self.scanned_mb[name] for name in ("audit log", "metrics", "traces", "logs")) > 0
        return answered and scanned and self.growth_mb <= GROWTH_MB and not self.leaks


class Collector:
    """An OTLP collector over gRPC: stores the amount of data, and the texts in it that look like a marker."""

    def __init__(self) -> None:
        self.taken: Counter[str] = Counter()
        self.suspects: dict[str, set[str]] = {"traces": set(), "logs": set()}
        self._lock = threading.Lock()

    @contextmanager
    def listening(self) -> Iterator[str]:
        """Serve; give the endpoint."""
        server = grpc.server(ThreadPoolExecutor(2))
        services = {"traces": "trace.v1.TraceService", "logs": "logs.v1.LogsService"}
        for signal, service in services.items():
            # A serialised message contains its strings verbatim, so it need not be decoded.
            handler = grpc.unary_unary_rpc_method_handler(partial(self._take, signal))
            name = f"opentelemetry.proto.collector.{service}"
            server.add_generic_rpc_handlers(
                (grpc.method_handlers_generic_handler(name, {"Export": handler}),)
            )
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            server.stop(None).wait()

    def _take(self, signal: str, message: bytes, _context: Any) -> bytes:
        found = set(suspects(message.decode("latin-1")))
        with self._lock:
            self.taken[signal] += len(message)
            self.suspects[signal] |= found
        return b""


def renderer(template: str, **fields: Any) -> Callable[[GuardServiceStub, str], Any]:
    """Return a Validate of ``template``, in which ``@`` stands for the marker."""

    def send(stub: GuardServiceStub, marker: str) -> Any:
        texts = {name: text.replace("@", marker) for name, text in fields.items()}
        code = template.replace("@", marker).encode("utf-8", "surrogatepass")
        return stub.Validate(pb.ValidateRequest(code=code, target=pb.TARGET_RENDERER, **texts))

    return send


def elsewhere(stub: GuardServiceStub, marker: str) -> Any:
    """Send a payload for a target that the policy denies."""
    return stub.Validate(pb.ValidateRequest(code=f"{marker}()".encode(), target=pb.TARGET_MAIN))


def large(stub: GuardServiceStub, marker: str) -> Any:
    """Send a payload above the limit."""
    code = (marker * 5_000).encode()
    return stub.Validate(pb.ValidateRequest(code=code, target=pb.TARGET_RENDERER))


def hurried(stub: GuardServiceStub, marker: str) -> Any:
    """Cancel the call before it can be answered."""
    request = pb.ValidateRequest(code=f"'{marker}'".encode(), target=pb.TARGET_RENDERER)
    return stub.Validate(request, timeout=0.0001)


def call(arguments: str, tool: str = "run") -> Callable[[GuardServiceStub, str], Any]:
    """Return a ValidateCall with ``arguments``."""

    def send(stub: GuardServiceStub, marker: str) -> Any:
        text = arguments.replace("@", marker).encode()
        return stub.ValidateCall(pb.ValidateCallRequest(tool=tool.replace("@", marker), arguments_json=text))

    return send


def batch(stub: GuardServiceStub, marker: str) -> Any:
    """Send several payloads in one batch."""
    texts = (f"'{marker}'", f"process['ex' + 'it']('{marker}')", f"const = {marker}")
    items = [pb.ValidateRequest(code=text.encode(), target=pb.TARGET_RENDERER) for text in texts]
    return stub.ValidateBatch(pb.ValidateBatchRequest(items=items))


def evaluate(code: str, argument: str = "") -> Callable[[GuardServiceStub, str], Any]:
    """Return an Evaluate of ``code`` with ``argument``."""

    def send(stub: GuardServiceStub, marker: str) -> Any:
        return stub.Evaluate(
            pb.EvaluateRequest(
                code=code.replace("@", marker).encode(), argument_json=argument.replace("@", marker).encode()
            )
        )

    return send


# The share of each kind in percent.
KINDS: list[tuple[int, Callable[[GuardServiceStub, str], Any]]] = [
    (30, renderer("/* @ */ const @ = document.querySelector('@'); @.textContent = `@`")),
    (8, renderer("items.map((@) => @.name + '@')")),
    (10, renderer("// @\n[]['constr' + 'uctor']['constr' + 'uctor']('@')()")),
    (5, renderer("eval('@')")),
    (5, renderer("const = '@'")),
    (5, renderer("'@\udc00'")),
    (3, renderer("'@\0'")),
    (3, renderer("'@'" + "+ '@'" * 2_600)),
    (3, renderer("@[" * 40 + "]" * 40)),
    (3, renderer("/[" * 3_000 + "@")),
    (3, renderer("'@'", session_id="no name @")),
    (2, renderer("'@'", request_id="@ @")),
    (4, elsewhere),
    (1, large),
    (4, call('{"code": "document.title + \'@\'"}')),
    (3, call("{\"code\": \"globalThis['pro' + 'cess'].exit('@')\"}")),
    (1, call('{"code": "1", "@": "@"')),
    (1, call("{}", tool="no tool @")),
    (1, hurried),
    (4, batch),
    (1, evaluate("console.log('@'); ({ '@': '@' })")),
    (1, evaluate("(arg) => { throw new Error('@' + arg) }", '"@"')),
]


class Clients:
    """Clients that send as fast as they can; their markers, and all status texts."""

    def __init__(self, address: str, *, seed: int) -> None:
        self.markers: list[str] = []
        self.status_texts: list[str] = []
        self.answers: Counter[str] = Counter()
        self.unexpected: list[str] = []
        self._address = address
        self._seed = seed
        self._lock = threading.Lock()

    def send(self, number: int) -> None:
        """Send ``number`` requests in all, and wait for their ends."""
        turns = count()
        threads = [threading.Thread(target=self._send, args=(turns, number, n)) for n in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _send(self, turns: Iterable[int], number: int, client: int) -> None:
        chance = random.Random(f"{self._seed} {number} {client}")
        weights, kinds = zip(*KINDS, strict=True)
        with grpc.insecure_channel(self._address) as channel:
            stub = GuardServiceStub(channel)
            for turn in turns:
                if turn >= number:
                    return
                marker = "".join(chance.choices(LETTERS, k=MARKER_LENGTH))
                (kind,) = chance.choices(kinds, weights)
                try:
                    outcome, text = kind(stub, marker).WhichOneof("outcome"), ""
                except grpc.RpcError as failure:
                    outcome, text = failure.code().name, f"{failure.details()} {failure}"
                with self._lock:
                    self.markers.append(marker)
                    self.answers[outcome] += 1
                    if text:
                        self.status_texts.append(text)
                    if outcome not in (HURRIED_ANSWERS if kind is hurried else ANSWERS):
                        self.unexpected.append(text)


def run(folder: Path, *, requests: int, seed: int) -> Figures:
    """Send ``requests``, the first share of which only warms up, and look for their markers."""
    figures = Figures(requests=requests)
    collector = Collector()
    with (
        collector.listening() as endpoint,
        sidecar(folder, *FLAGS, env={**OTEL, "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}) as served,
    ):
        clients = Clients(served.address, seed=seed)
        begin = time.perf_counter()
        clients.send(int(WARM_SHARE * requests))
        figures.rss_warm_mb = served.rss_mb()
        clients.send(requests - int(WARM_SHARE * requests))
        figures.rss_end_mb = served.rss_mb()
        figures.seconds = round(time.perf_counter() - begin, 1)
        figures.load_average = round(os.getloadavg()[0], 1)
        with grpc.insecure_channel(served.address) as channel:
            counts = str(GuardServiceStub(channel).GetErrorStats(pb.GetErrorStatsRequest()))
        pages = [page(served.admin, path) for path in ("/metrics", "/readyz", "/livez")]
        served.process.terminate()
        rest = served.process.communicate(timeout=60)[0]
    figures.growth_mb = round(sum(figures.rss_end_mb.values()) - sum(figures.rss_warm_mb.values()), 1)
    figures.answers = dict(clients.answers)
    figures.unexpected = clients.unexpected[:8]
    traces = {
        "audit log": served.log.read_text(encoding="utf-8"),
        "stderr": served.stderr.read_text(encoding="utf-8"),
        "stdout": rest,
        "error counts": counts,
        "metrics": "\n".join(pages),
        "status texts": "\n".join(clients.status_texts),
    }
    sizes = {**{name: len(text) for name, text in traces.items()}, **collector.taken}
    figures.scanned_mb = {name: round(size / 1e6, 6) for name, size in sizes.items()}
    known = {
        marker[start : start + RUN] for marker in clients.markers for start in range(MARKER_LENGTH - RUN + 1)
    }
    found = {**{name: set(suspects(text)) for name, text in traces.items()}, **collector.suspects}
    figures.leaks = [name for name, runs in found.items() if runs & known]
    return figures


def page(address: str | None, path: str) -> str:
    """Return the response of the admin listener."""
    with urllib.request.urlopen(f"http://{address}{path}", timeout=30) as answer:
        return str(answer.read().decode())


def suspects(text: str) -> Iterable[str]:
    """Yield every sequence of 8 letters that could be part of a marker."""
    for found in re.finditer(f"[{LETTERS}]{{{RUN},}}", text):
        run = found.group()
        yield from (run[start : start + RUN] for start in range(len(run) - RUN + 1))


def main() -> None:
    """Parse the command line, run, print; exit with 1 unless all held."""
    options = parser(__doc__)
    options.add_argument("--requests", type=int, default=100_000)
    options.add_argument("--seed", type=int, default=1)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = run(Path(folder), requests=chosen.requests, seed=chosen.seed)
    sys.exit(not report(figures))


if __name__ == "__main__":
    main()
