"""A fake service with scripted replies, and the same request through either client."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import grpc
import pytest
from fake_guard import CLIENTS, REQUESTS, Requester, Servicer


@pytest.fixture(params=CLIENTS)
def requester(request: pytest.FixtureRequest) -> Requester:
    return Requester(request.param)


@pytest.fixture
def serve_fake() -> Iterator[Callable[..., str]]:
    """Serve what ``answer`` makes of every request; return the address."""
    with ExitStack() as stack:

        def build(
            answer: Servicer,
            *,
            address: str = "127.0.0.1:0",
            credentials: grpc.ServerCredentials | None = None,
        ) -> str:
            server = grpc.server(ThreadPoolExecutor(4))
            handlers = {
                rpc: grpc.unary_unary_rpc_method_handler(
                    answer,
                    request_deserializer=kind.FromString,
                    response_serializer=lambda reply: (
                        reply if isinstance(reply, bytes) else reply.SerializeToString()
                    ),
                )
                for rpc, kind in REQUESTS.items()
            }
            service = grpc.method_handlers_generic_handler("evalward.v1.GuardService", handlers)
            server.add_generic_rpc_handlers((service,))
            if credentials is None:
                port = server.add_insecure_port(address)
            else:
                port = server.add_secure_port(address, credentials)
            server.start()
            stack.callback(lambda: server.stop(None).wait())
            return address if address.startswith("unix:") else f"{address.rpartition(':')[0]}:{port}"

        yield build
