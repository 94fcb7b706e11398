"""The service's log as OpenTelemetry log records, for ``evalward[otel]``: the lines that stderr has, and no other.

The SDK's logs are still underneath an underscore, so that nothing else here may depend on this module.
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
"""The logger whose records go out; those of the exporter itself would come back for ever."""
_CLOSE_MS: Final = 2_000
_SEVERITIES: Final = (
    (logging.CRITICAL, SeverityNumber.FATAL),
    (logging.ERROR, SeverityNumber.ERROR),
    (logging.WARNING, SeverityNumber.WARN),
    (logging.INFO, SeverityNumber.INFO),
)


class Logs(logging.Handler):
    """Hands what is logged to ``processor``; ``finish`` once, at the end."""

    def __init__(self, processor: LogRecordProcessor) -> None:
        super().__init__(logging.INFO)
        self._provider = LoggerProvider(own_resource(), shutdown_on_exit=False)
        self._provider.add_log_record_processor(processor)
        self._logger = self._provider.get_logger(NAME, version("evalward"))

    def emit(self, record: logging.LogRecord) -> None:
        """Make a log record of the message and the fields; of an exception, only the type."""
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
        """Take no more, and hand over what is left, for two seconds at most."""
        logging.getLogger(NAME).removeHandler(self)
        self._provider.force_flush(_CLOSE_MS)
        self._provider.shutdown()


def exported_logs() -> Logs:
    """Return logs that go out by OTLP over gRPC, to where the OTEL_EXPORTER_OTLP_* variables say."""
    from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter  # noqa: PLC0415 - not in tests

    logs = Logs(BatchLogRecordProcessor(OTLPLogExporter()))
    logging.getLogger(NAME).addHandler(logs)
    return logs
