"""An OpenTelemetry collector for tests, which stores everything that it receives."""

import queue
from typing import Any

from opentelemetry.proto.collector.logs.v1 import logs_service_pb2, logs_service_pb2_grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc


class Traces(trace_service_pb2_grpc.TraceServiceServicer):
    """Takes spans."""

    def __init__(self) -> None:
        self.taken: queue.Queue[trace_service_pb2.ExportTraceServiceRequest] = queue.Queue()

    def Export(self, request: Any, _context: Any) -> Any:  # noqa: N802 - the protocol's name
        self.taken.put(request)
        return trace_service_pb2.ExportTraceServiceResponse()


class Logs(logs_service_pb2_grpc.LogsServiceServicer):
    """Takes log records."""

    def __init__(self) -> None:
        self.taken: queue.Queue[logs_service_pb2.ExportLogsServiceRequest] = queue.Queue()

    def Export(self, request: Any, _context: Any) -> Any:  # noqa: N802 - the protocol's name
        self.taken.put(request)
        return logs_service_pb2.ExportLogsServiceResponse()


class Collector:
    """``taken`` has every request with spans that came, ``logs`` every one with log records."""

    def __init__(self) -> None:
        self._traces, self._logs = Traces(), Logs()
        self.taken, self.logs = self._traces.taken, self._logs.taken

    def add_to(self, server: Any) -> None:
        traces: Any = trace_service_pb2_grpc.add_TraceServiceServicer_to_server
        traces(self._traces, server)
        logs: Any = logs_service_pb2_grpc.add_LogsServiceServicer_to_server
        logs(self._logs, server)
