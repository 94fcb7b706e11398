"""An OpenTelemetry collector for tests: it takes what it is sent and keeps it."""

import queue
from typing import Any

from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc


class Collector(trace_service_pb2_grpc.TraceServiceServicer):
    """``taken`` has every request that came."""

    def __init__(self) -> None:
        self.taken: queue.Queue[trace_service_pb2.ExportTraceServiceRequest] = queue.Queue()

    def Export(self, request: Any, _context: Any) -> Any:  # noqa: N802 - the protocol's name
        self.taken.put(request)
        return trace_service_pb2.ExportTraceServiceResponse()

    def add_to(self, server: Any) -> None:
        add: Any = trace_service_pb2_grpc.add_TraceServiceServicer_to_server
        add(self, server)
