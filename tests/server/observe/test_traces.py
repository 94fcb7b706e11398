"""OpenTelemetry spans: in the SDK's own exporter, and over OTLP from a real server to a real socket."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from evalward.guard import judge as real_judge
from evalward.server.observe.traces import Traces
from evalward.server.settings import Settings
from evalward.v1 import evalward_pb2 as pb
from evalward.v1.evalward_pb2_grpc import GuardServiceStub

EVALWARD = Path(sys.executable).with_name("evalward")
TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"
SAMPLED = (("traceparent", f"00-{TRACE_ID}-00f067aa0ba902b7-01"),)
UNSAMPLED = (("traceparent", f"00-{TRACE_ID}-00f067aa0ba902b7-00"),)
MARKER = "marker_6f0d31c7_92ab_4e5d_aa17_0c"

Start = Callable[..., Any]
Ask = Callable[..., pb.ValidateRequest]


def finished(spans: InMemorySpanExporter) -> Any:
    """Return the spans with fields that are optional in the SDK's types."""
    return spans.get_finished_spans()


@pytest.fixture
def spans() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def traces(spans: InMemorySpanExporter) -> Iterator[Traces]:
    made = Traces(SimpleSpanProcessor(spans))
    yield made
    made.close()


def test_a_call_is_a_span_of_the_callers_trace(
    start: Start, ask: Ask, traces: Traces, spans: InMemorySpanExporter
) -> None:
    running = start(real_judge, observers=[traces])
    running.stub.Validate(ask(f"process['exit']('{MARKER}')".encode()), metadata=SAMPLED)
    running.stop()
    (span,) = finished(spans)
    (record,) = running.records()
    assert span.name == "evalward.v1.GuardService/Validate"
    assert span.kind is SpanKind.SERVER
    assert f"{span.context.trace_id:032x}" == TRACE_ID == record["trace_id"]
    assert f"{span.parent.span_id:016x}" == "00f067aa0ba902b7"
    assert span.parent.is_remote
    assert span.end_time - span.start_time > 0
    assert span.status.status_code is StatusCode.UNSET
    assert span.attributes["evalward.code"] == "EVAL_BLOCKED_CONSTRUCT"
    assert span.attributes["evalward.construct"] == "process.exit"
    assert span.attributes["evalward.decision_id"] == record["decision_id"]
    assert span.resource.attributes["service.name"] == "evalward"
    assert MARKER[:15] not in span.to_json()


def test_without_a_traceparent_a_trace_begins_here(
    start: Start, ask: Ask, traces: Traces, spans: InMemorySpanExporter
) -> None:
    running = start(observers=[traces])
    running.stub.Validate(ask())
    running.stop()
    (span,) = finished(spans)
    assert span.parent is None
    assert span.attributes["evalward.code"] == "OK"


def test_a_caller_that_does_not_sample_gets_no_span(
    start: Start, ask: Ask, traces: Traces, spans: InMemorySpanExporter
) -> None:
    running = start(observers=[traces])
    running.stub.Validate(ask(), metadata=UNSAMPLED)
    running.stop()
    assert spans.get_finished_spans() == ()
    assert running.records()[0]["trace_id"] == TRACE_ID


def test_batches_faults_and_strangers(
    start: Start, ask: Ask, traces: Traces, spans: InMemorySpanExporter
) -> None:
    running = start(settings=Settings(max_streams=0), token="0123456789abcdef", observers=[traces])
    bearer = (("authorization", "Bearer 0123456789abcdef"),)
    running.stub.ValidateBatch(pb.ValidateBatchRequest(items=[ask(), ask(b"block")]), metadata=bearer)
    with pytest.raises(grpc.RpcError):
        list(running.stub.ValidateStream(iter([]), metadata=bearer))
    with pytest.raises(grpc.RpcError):
        running.stub.Validate(ask())
    running.stop()
    batch, stream = finished(spans)
    assert (batch.attributes["evalward.items"], batch.attributes["evalward.failed"]) == (2, 1)
    assert batch.attributes["evalward.code"] == "EVAL_BLOCKED_CONSTRUCT"
    assert batch.attributes["evalward.principal"].startswith("token:")
    assert batch.status.status_code is StatusCode.UNSET
    assert stream.status.status_code is StatusCode.ERROR
    assert stream.attributes["evalward.limit"] == "streams"


@pytest.mark.exhaustive
def test_a_real_server_sends_its_spans_before_it_ends(serve: Any, collector: Any, ask: Ask) -> None:
    process = serve("--listen", "127.0.0.1:0", "--allow-eval=renderer", "--traces")
    with grpc.insecure_channel(process.listen[0]) as channel:
        stub = GuardServiceStub(channel)
        stub.Validate(ask(f"document.title + '{MARKER}'".encode()), metadata=SAMPLED, timeout=30)
    code, stderr = process.terminate()
    assert code == 0
    sent = collector.taken.get(timeout=30)
    (resource,) = sent.resource_spans
    assert [
        each.value.string_value for each in resource.resource.attributes if each.key == "service.name"
    ] == ["guard-of-test"]
    (span,) = resource.scope_spans[0].spans
    assert span.trace_id.hex() == TRACE_ID
    assert MARKER[:15] not in str(sent) + stderr


@pytest.mark.parametrize("flag", ["--traces", "--otel-logs"])
def test_without_the_extra_the_server_does_not_start(flag: str, tmp_path: Path) -> None:
    broken = tmp_path / "opentelemetry"
    broken.mkdir()
    broken.joinpath("__init__.py").write_text("raise ImportError\n")
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from evalward.cli.app import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, *("serve", flag, "--audit-log", tmp_path / "a.jsonl")],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (3, "")
    assert "pip install 'evalward[otel]'" in done.stderr
