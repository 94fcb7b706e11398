"""No part of a payload, its arguments or its result leaves the service except in the reply (service.md, "Audit log").

Random markers go in wherever a caller can put text. Not eight characters of one may come out in the audit log, the
metrics, readiness, traces, stderr or the text of a gRPC status.
"""

import json
import random
import string
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import pytest
import yaml
from admin_http import fetch

from evalward.v1 import evalward_pb2 as pb
from evalward.v1.evalward_pb2_grpc import GuardServiceStub

DATA = Path(__file__).parents[2] / "data"
PAYLOADS = yaml.safe_load(DATA.joinpath("marked_payloads.yaml").read_text("utf-8"))
SEED = random.SystemRandom().randrange(2**32)
RUN = 8


class Markers:
    """Creates markers of 32 letters and digits, and stores them."""

    def __init__(self) -> None:
        self._random = random.Random(SEED)
        self.made: list[str] = []

    def __call__(self) -> str:
        first = self._random.choice(string.ascii_letters)
        rest = self._random.choices(string.ascii_letters + string.digits, k=31)
        self.made.append(first + "".join(rest))
        return self.made[-1]

    def found_in(self, text: str) -> list[str]:
        """Return the eight-character parts of markers in ``text``."""
        runs = {text[start : start + RUN] for start in range(len(text) - RUN + 1)}
        return [
            marker[start : start + RUN]
            for marker in self.made
            for start in range(len(marker) - RUN + 1)
            if marker[start : start + RUN] in runs
        ]


def calls(stub: GuardServiceStub, marker: Markers) -> Iterator[Callable[[], Any]]:
    """Yield calls that together have markers in every field."""
    renderer = [text.format(m=marker()).encode() for text in PAYLOADS["renderer"]]
    sandbox = [text.format(m=marker()).encode() for text in PAYLOADS["sandbox"]]
    requests = [pb.ValidateRequest(code=code, target=pb.TARGET_RENDERER) for code in renderer]
    for request in requests:
        yield partial(stub.Validate, request, timeout=60)
    for code in sandbox:
        argument = f'{{"{marker()}": "{marker()}"}}'.encode()
        evaluate = pb.EvaluateRequest(code=code, argument_json=argument)
        yield partial(stub.Evaluate, evaluate, timeout=60)
    evaluate = pb.EvaluateRequest(code=b"1", argument_json=marker().encode())
    yield lambda: stub.Evaluate(evaluate, timeout=60)
    yield lambda: stub.ValidateBatch(pb.ValidateBatchRequest(items=requests), timeout=60)
    items = [pb.ValidateStreamRequest(item=request) for request in requests]
    yield lambda: list(stub.ValidateStream(iter(items), timeout=60))
    for code in renderer:
        arguments = json.dumps({"script": code.decode(), marker(): marker()}).encode()
        call = pb.ValidateCallRequest(tool="run", arguments_json=arguments, include_context=True)
        yield partial(stub.ValidateCall, call, timeout=60)
    call = pb.ValidateCallRequest(tool="run", arguments_json=marker().encode())
    yield lambda: stub.ValidateCall(call, timeout=60)
    odd = pb.ValidateRequest(
        code=b"1",
        target=pb.TARGET_RENDERER,
        session_id=f'"{marker()}"',
        request_id=f"{marker()} {marker()}",
        bindings={marker(): marker()},
    )
    yield lambda: stub.Validate(odd, timeout=60)
    hurried = pb.ValidateRequest(code=marker().encode(), target=pb.TARGET_RENDERER)
    yield lambda: stub.Validate(hurried, timeout=0.000_001)
    metadata = (("traceparent", marker()), ("tracestate", marker()), ("x-marker", marker()))
    yield lambda: stub.Validate(requests[0], timeout=60, metadata=metadata)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("log_format", ["text", "json"])
def test_no_run_of_a_marker_leaves_the_service(
    log_format: str, serve: Callable[..., Any], collector: Any
) -> None:
    process = serve(
        *("--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--log-format", log_format),
        *("--allow-eval=renderer,sandbox", "--manifest", str(DATA / "tools" / "manifest.yaml")),
        *("--errors-verbose", "full", "--error-stats", "--audit-fnv1a32", "--traces", "--otel-logs"),
    )
    marker, said, answered = Markers(), [], 0
    admin = process.ready["admin"]
    with grpc.insecure_channel(process.listen[0]) as channel:
        for call in calls(GuardServiceStub(channel), marker):
            try:
                call()
            except grpc.RpcError as failure:
                said.append(f"{failure.code()} {failure.details()}")
            answered += 1
        broken = channel.unary_unary("/evalward.v1.GuardService/Validate", bytes, bytes)
        broken(b"\xff" + marker().encode(), timeout=60)
        with pytest.raises(grpc.RpcError) as unknown:
            channel.unary_unary(f"/evalward.v1.GuardService/{marker()}", bytes, bytes)(b"", timeout=60)
        said.append(str(unknown.value.details()))
    fetch(admin, f"/{marker()}?{marker()}", Accept=marker(), Host=marker(), Traceparent=marker())

    said += [fetch(admin, path).body.decode() for path in ("/metrics", "/readyz", "/livez")]
    openmetrics = fetch(admin, "/metrics", Accept="application/openmetrics-text")
    said.append(openmetrics.body.decode())
    code, stderr = process.terminate()
    assert code == 0
    spans = []
    while not collector.taken.empty():
        spans.append(collector.taken.get())
    assert spans
    said += [str(each) for each in spans]
    assert not collector.logs.empty()
    while not collector.logs.empty():
        said.append(str(collector.logs.get()))
    said += [stderr, process.log.read_text("utf-8")]
    assert answered > 50
    assert len(process.records()) > answered
    assert marker.found_in("\n".join(said)) == [], f"seed {SEED}"


def test_the_search_finds_eight_characters_and_not_seven() -> None:
    marker = Markers()
    made = marker()
    assert marker.found_in(f"\n{made[5:13]}\n") == [made[5:13]]
    assert marker.found_in(f"\n{made[5:12]}\n{made[20:27]}") == []
