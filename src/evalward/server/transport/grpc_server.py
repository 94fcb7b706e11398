"""The configured gRPC server: its threads, and its bounds on calls, messages and connections.

Why synchronous gRPC. ``benchmarks/transports.py``, grpcio 1.85, two busy cores, medians of three alternating
rounds; each request parses 1 KB, the health check arrives while three parses of 100 KB run:

====================  =======  ===========  ================  ===================  ===================
server                p50      CPU/request  health meanwhile  CPU/request (eight)  requests/s (eight)
====================  =======  ===========  ================  ===================  ===================
sync, 2 threads       0.57 ms  0.43 ms      38 ms             0.43 ms              2,097
sync, 20 threads      0.57 ms  0.42 ms      24 ms             0.39 ms              1,578
asyncio, in the loop  0.65 ms  0.51 ms      16 ms             0.47 ms              1,387
asyncio, thread pool  0.75 ms  0.63 ms      68 ms             0.59 ms              1,461
====================  =======  ===========  ================  ===================  ===================

The synchronous server is the cheapest, and idle threads cost nothing as long as the pool wakes the thread that worked
last (``evalward.thread_pool``): to wake the one that has waited longest costs a fifth of this process's time. In every
variant health waits for a parse, since parsing holds the GIL; worker processes behind the executor seam
(``evalward.judging.workers``) end that wait.
The pool has one thread per request that can run or wait, and spare threads for requests that are rejected at once.
Health has its own threads.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import grpc

if TYPE_CHECKING:
    from evalward.server.settings import Settings
    from evalward.server.transport.pending_requests import PendingRequests
    from evalward.server.transport.token_gate import TokenGate
    from evalward.thread_pool import PrestartedPool

BACKSTOP = 1_000  # all RPCs together; bounds memory under a flood
# A slightly oversized payload must reach the handler, which rejects it with an envelope and a record.
MESSAGE_FACTOR = 4
BATCH_FACTOR = 1.5
MESSAGE_EXTRA_BYTES = 64 * 1024
ARGUMENT_BYTES = 1024 * 1024  # the sandbox's own limit; importing it would load the engine
# SETTINGS_MAX_CONCURRENT_STREAMS: the minimum that RFC 9113, section 6.5.2, recommends. The core rejects more streams
# before Python sees them, and a reset stream counts until it is closed (CVE-2023-44487).
STREAMS_PER_CONNECTION = 100
# For the TLS handshake and the first frame; the core's default is 120 s.
HANDSHAKE_MS = 10_000
# A client may send a keepalive PING every 10 s; the second PING above this rate closes the connection.
PING_EVERY_MS = 10_000
PING_STRIKES = 2
# Without keepalive, a vanished peer would hold its stream or health watch for the core's default of two hours.
KEEPALIVE_MS = 60_000
AGE_GRACE_MS = 30_000  # for the calls of a connection that reaches its maximum age


def call_threads(settings: Settings, *, pending_requests: PendingRequests, evaluates: bool = False) -> int:
    """Return the number of threads for calls: all that can run, wait, stream or be incomplete.

    A server that ``evaluates`` also has threads for runs.
    """
    threads = settings.places + settings.max_streams + pending_requests.threads
    return threads + settings.evaluation_queue + (os.cpu_count() or 1) if evaluates else threads


def message_bytes(settings: Settings, payload_bytes: int, *, evaluates: bool = False) -> int:
    """Return the maximum bytes of one message, under a policy with ``payload_bytes`` per payload.

    A slightly oversized payload is read, so that it gets an envelope and a record. gRPC's core rejects larger messages
    by their length prefix, which bounds memory. A server that ``evaluates`` has room for the arguments.
    """
    if evaluates:
        payload_bytes += ARGUMENT_BYTES
    batch_bytes = BATCH_FACTOR * settings.batch_bytes
    return int(max(MESSAGE_FACTOR * payload_bytes, batch_bytes)) + MESSAGE_EXTRA_BYTES


def bounded_server(
    settings: Settings,
    most_bytes: int,
    *,
    pool: PrestartedPool,
    connections: int,
    gate: TokenGate | None = None,
) -> grpc.Server:
    """Return a gRPC server without handlers, its RPCs bounded by ``settings`` and run on ``pool``.

    A message has at most ``most_bytes``; each listener accepts at most ``connections``.
    """
    return grpc.server(
        pool,
        interceptors=[] if gate is None else [gate],
        maximum_concurrent_rpcs=BACKSTOP,
        options=[
            ("grpc.max_receive_message_length", most_bytes),
            # By default a second server on the same port must fail instead of sharing the requests.
            ("grpc.so_reuseport", int(settings.share_port)),
            ("grpc.max_allowed_incoming_connections", connections),
            ("grpc.max_concurrent_streams", STREAMS_PER_CONNECTION),
            ("grpc.server_handshake_timeout_ms", HANDSHAKE_MS),
            ("grpc.http2.min_ping_interval_without_data_ms", PING_EVERY_MS),
            ("grpc.http2.max_ping_strikes", PING_STRIKES),
            ("grpc.keepalive_time_ms", KEEPALIVE_MS),
            *_ages(settings.connection_age),
            *_idle(settings.connection_idle),
        ],
    )


def _ages(seconds: int) -> list[tuple[str, int]]:
    """Return the options that limit the age of a connection."""
    if not seconds:
        return []
    return [
        ("grpc.max_connection_age_ms", 1_000 * seconds),
        ("grpc.max_connection_age_grace_ms", AGE_GRACE_MS),
    ]


def _idle(seconds: int) -> list[tuple[str, int]]:
    """Return the option that ends a connection without calls."""
    return [("grpc.max_connection_idle_ms", 1_000 * seconds)] if seconds else []
