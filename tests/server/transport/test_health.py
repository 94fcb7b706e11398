"""Health with open Watch streams: they starve neither Check nor Validate, and their number is bounded."""

import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from evalward.server.settings import Settings
from evalward.server.transport.guard_service import SERVICE_NAME
from evalward.server.transport.health_service import MAX_WATCHES
from evalward.v1 import evalward_pb2 as pb

Start = Callable[..., Any]
Ask = Callable[..., pb.ValidateRequest]

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
UNKNOWN = health_pb2.HealthCheckResponse.SERVICE_UNKNOWN


def watch(stub: Any, service: str = "") -> Any:
    return stub.Watch(health_pb2.HealthCheckRequest(service=service), timeout=120)


def test_more_watches_than_threads_starve_nothing(start: Start, ask: Ask) -> None:
    running = start(settings=Settings(max_concurrent=1, queue=0, max_streams=0))
    stub = health_pb2_grpc.HealthStub(running.channel)
    watches = [watch(stub) for _ in range(MAX_WATCHES)]
    assert [next(each).status for each in watches] == [SERVING] * MAX_WATCHES

    # Together fewer than the streams that one connection may have.
    surplus = [watch(stub) for _ in range(2 * MAX_WATCHES)]

    for each in surplus:
        with pytest.raises(grpc.RpcError) as failure:
            next(each)
        assert failure.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert stub.Check(health_pb2.HealthCheckRequest(), timeout=60).status == SERVING
    assert running.stub.Validate(ask(), timeout=60).WhichOneof("outcome") == "allowed"
    watches[0].cancel()
    assert next_place(stub).status == SERVING
    running.stop()
    assert [next(each).status for each in watches[1:]] == [NOT_SERVING] * (MAX_WATCHES - 1)


def next_place(stub: Any) -> Any:
    """Return the first answer of a Watch as soon as there is a place for one."""
    while True:
        try:
            return next(watch(stub))
        except grpc.RpcError as failure:
            if failure.code() is not grpc.StatusCode.RESOURCE_EXHAUSTED:
                raise
            threading.Event().wait(0.01)


def test_a_watcher_that_does_not_read_holds_nobody_up(start: Start, ask: Ask) -> None:
    running = start()
    with ExitStack() as stack:
        # A channel of its own each; what is sent stays with gRPC, unread.
        for _ in range(4):
            channel = stack.enter_context(grpc.insecure_channel(running.address))
            watch(health_pb2_grpc.HealthStub(channel))
        stub = health_pb2_grpc.HealthStub(running.channel)
        reader = watch(stub)
        assert next(reader).status == SERVING

        for is_healthy in (False, True) * 3:
            running.server._health.report("sink", is_healthy=is_healthy)  # noqa: SLF001 - the sink's own report
            expected = SERVING if is_healthy else NOT_SERVING
            assert next(reader).status == expected
            assert stub.Check(health_pb2.HealthCheckRequest(), timeout=60).status == expected
        assert running.stub.Validate(ask(), timeout=60).WhichOneof("outcome") == "allowed"


def test_every_part_must_be_well(start: Start) -> None:
    running = start()
    stub = health_pb2_grpc.HealthStub(running.channel)
    health = running.server._health  # noqa: SLF001 - as above

    def status() -> int:
        return int(stub.Check(health_pb2.HealthCheckRequest(service=SERVICE_NAME), timeout=60).status)

    health.report("sink", is_healthy=False)
    health.report("workers", is_healthy=False)
    health.report("sink", is_healthy=True)
    assert status() == NOT_SERVING
    health.report("workers", is_healthy=True)
    assert status() == SERVING


def test_an_unknown_service_is_told_so(start: Start) -> None:
    stub = health_pb2_grpc.HealthStub(start().channel)

    with pytest.raises(grpc.RpcError) as failure:
        stub.Check(health_pb2.HealthCheckRequest(service="nobody"), timeout=60)

    assert failure.value.code() is grpc.StatusCode.NOT_FOUND
    stream = watch(stub, "nobody")
    assert next(stream).status == UNKNOWN
    stream.cancel()
