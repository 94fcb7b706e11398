"""The gRPC server before anything is served: its threads, and the bounds on calls, messages and connections."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import grpc

if TYPE_CHECKING:
    from evalward.server.arrivals import Arrivals
    from evalward.server.settings import Settings
    from evalward.server.token import TokenGate

BACKSTOP = 1_000  # RPCs that may exist at all, whatever they are; memory stays bounded under any flood
# A payload somewhat above its limit must reach the handler, which answers with an envelope and a record.
MESSAGE_FACTOR = 4
BATCH_FACTOR = 1.5
MESSAGE_EXTRA_BYTES = 64 * 1024
ARGUMENT_BYTES = 1024 * 1024  # the sandbox's own limit, which is not asked: asking would load the engine
AGE_GRACE_MS = 30_000  # for the calls that a connection has when its age ends


def bounded_server(
    settings: Settings,
    payload_bytes: int,
    *,
    arrivals: Arrivals,
    evaluates: bool = False,
    gate: TokenGate | None = None,
) -> grpc.Server:
    """Return a gRPC server without handlers, its threads, RPCs and message size bounded by ``settings``.

    Requests are waited for in ``arrivals``. One that ``evaluates`` has room for the arguments, and threads for the
    runs.
    """
    threads = settings.places + settings.max_streams + arrivals.threads
    if evaluates:
        threads += settings.evaluation_queue + (os.cpu_count() or 1)
        payload_bytes += ARGUMENT_BYTES
    batch_bytes = BATCH_FACTOR * settings.batch_bytes
    return grpc.server(
        ThreadPoolExecutor(threads, thread_name_prefix="rpc"),
        interceptors=[] if gate is None else [gate],
        maximum_concurrent_rpcs=BACKSTOP,
        options=[
            (
                "grpc.max_receive_message_length",
                int(max(MESSAGE_FACTOR * payload_bytes, batch_bytes)) + MESSAGE_EXTRA_BYTES,
            ),
            # Unasked, a second server on the same port must fail and not share the first one's requests.
            ("grpc.so_reuseport", int(settings.share_port)),
            *_ages(settings.connection_age),
        ],
    )


def _ages(seconds: int) -> list[tuple[str, int]]:
    """Return the options that end a connection at its age."""
    if not seconds:
        return []
    return [
        ("grpc.max_connection_age_ms", 1_000 * seconds),
        ("grpc.max_connection_age_grace_ms", AGE_GRACE_MS),
    ]
