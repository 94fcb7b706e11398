"""The service log as OpenTelemetry log records for ``evalward[otel]``: exactly the lines that stderr has.

The SDK's log modules are still private (underscore), so only this module imports them.
"""

from __future__ import annotations

import logging
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from opentelemetry._logs import SeverityNumber
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor

from evalward.server.observe.otel_resource import own_resource

if TYPE_CHECKING:
    from opentelemetry.sdk._logs import LogRecordProcessor

NAME: Final = "evalward"
"""The exported logger; exporting the exporter's own records would loop."""
_CLOSE_MS: Final = 2_000
_SEVERITIES: Final = (
    (logging.CRITICAL, SeverityNumber.FATAL),
    (logging.ERROR, SeverityNumber.ERROR),
    (logging.WARNING, SeverityNumber.WARN),
    (logging.INFO, SeverityNumber.INFO),
)


class Logs(logging.Handler):
    """Passes log records to ``processor``; call ``finish`` once, at the end."""

    def __init__(self, processor: LogRecordProcessor) -> None:
        super().__init__(logging.INFO)
        self._provider = LoggerProvider(own_resource(), shutdown_on_exit=False)
        self._provider.add_log_record_processor(processor)
        self._logger = self._provider.get_logger(NAME, version("evalward"))

    def emit(self, record: logging.LogRecord) -> None:
        """Export the message and the fields; of an exception, only the type."""
        fields: dict[str, Any] = {
            name: value for name, value in getattr(record, "fields", {}).items() if value is not None
        }
        if record.exc_info and record.exc_info[0] is not None:
            fields["exception.type"] = record.exc_info[0].__name__
        self._logger.emit(
            timestamp=int(record.created * 1e9),
            severity_number=next((to for level, to in _SEVERITIES if record.levelno >= level), None),
            severity_text=record.levelname,
            body=record.getMessage(),
            attributes={"logger": record.name, **fields},
        )

    def finish(self) -> None:
        """Stop, and flush the remaining records, for two seconds at most."""
        logging.getLogger(NAME).removeHandler(self)
        self._provider.force_flush(_CLOSE_MS)
        self._provider.shutdown()


def exported_logs() -> Logs:
    """Return logs that are exported by OTLP over gRPC, as the OTEL_EXPORTER_OTLP_* variables configure."""
    from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter  # noqa: PLC0415 - not in tests

    logs = Logs(BatchLogRecordProcessor(OTLPLogExporter()))
    logging.getLogger(NAME).addHandler(logs)
    return logs
