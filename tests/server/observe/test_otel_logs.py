"""The service's log as OpenTelemetry log records: which are exported, and which are not."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from opentelemetry._logs import SeverityNumber
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor

from evalward.server.observe.otel_logs import Logs


@pytest.fixture
def exporter() -> Any:
    made: Any = InMemoryLogRecordExporter
    return made()


def test_a_line_is_a_record_with_its_fields(exporter: Any) -> None:
    handler = Logs(SimpleLogRecordProcessor(exporter))
    logger = logging.getLogger(f"evalward.test.{id(handler)}")
    logger.addHandler(handler)
    logger.error(
        "the queue of %d is full", 7, extra={"fields": {"decision_id": "d", "admin": None, "listen": ["a"]}}
    )
    failure = RuntimeError("the text of a payload")
    logger.error("a guard raised", exc_info=failure)
    handler.finish()

    full, raised = (each.log_record for each in exporter.get_finished_logs())
    assert (full.body, full.severity_text, full.severity_number) == (
        "the queue of 7 is full",
        "ERROR",
        SeverityNumber.ERROR,
    )
    assert {**(full.attributes or {})} == {"logger": logger.name, "decision_id": "d", "listen": ("a",)}
    assert (raised.attributes or {})["exception.type"] == "RuntimeError"
    assert "text of a payload" not in str(raised)


@pytest.mark.exhaustive
def test_a_real_server_sends_its_lines_before_it_ends(serve: Any, collector: Any) -> None:
    process = serve("--listen", "127.0.0.1:0", "--otel-logs")
    code, stderr = process.terminate()
    assert code == 0
    assert "audit log: " in stderr
    sent = collector.logs.get(timeout=30)
    (resource,) = sent.resource_logs
    named = {each.key: each.value.string_value for each in resource.resource.attributes}
    assert named["service.name"] == "guard-of-test"
    bodies = [each.body.string_value for scope in resource.scope_logs for each in scope.log_records]
    assert any(body.startswith("audit log: ") for body in bodies)
    assert collector.taken.empty()
