"""The baseline of ``service.py``: an RPC that does nothing, on a server with the service's own settings."""

from __future__ import annotations

import signal

import grpc

from evalward.guard.rules import Limits
from evalward.server.arrivals import Arrivals
from evalward.server.crew import Crew
from evalward.server.settings import Settings
from evalward.server.transport import bounded_server, call_threads, message_bytes

CONNECTIONS = 1_000  # more than any benchmark opens
METHOD = "/evalward.benchmark.Echo/Echo"


def main() -> None:
    """Serve on a free port, print it, and stop at SIGTERM."""
    _, service, method = METHOD.split("/")
    settings = Settings()
    arrivals = Arrivals(settings.unread, refuse=lambda _context, _most: None)
    crew = Crew(call_threads(settings, arrivals=arrivals), "rpc")
    crew.muster()
    server = bounded_server(
        settings, message_bytes(settings, Limits().payload_bytes), crew=crew, connections=CONNECTIONS
    )
    handler = grpc.unary_unary_rpc_method_handler(lambda request, _context: request)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {method: handler}),))
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(f"127.0.0.1:{port}", flush=True)
    signal.sigwait({signal.SIGTERM})
    server.stop(None).wait()


if __name__ == "__main__":
    main()
