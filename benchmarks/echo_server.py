"""The baseline of ``service.py``: an RPC that does nothing, on a server with the service's own settings."""

from __future__ import annotations

import signal

import grpc

from evalward.guard.rules import Limits
from evalward.server.settings import Settings
from evalward.server.transport.grpc_server import bounded_server, call_threads, message_bytes
from evalward.server.transport.pending_requests import PendingRequests
from evalward.thread_pool import PrestartedPool

CONNECTIONS = 1_000  # more than any benchmark opens
METHOD = "/evalward.benchmark.Echo/Echo"


def main() -> None:
    """Serve on a free port, print it, and stop at SIGTERM."""
    _, service, method = METHOD.split("/")
    settings = Settings()
    pending_requests = PendingRequests(settings.unread, refuse=lambda _context, _most: None)
    pool = PrestartedPool(call_threads(settings, pending_requests=pending_requests), "rpc")
    pool.prestart()
    server = bounded_server(
        settings, message_bytes(settings, Limits().payload_bytes), pool=pool, connections=CONNECTIONS
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
