"""A connection is closed at its maximum age, between calls, so that clients find new replicas."""

import threading
from collections.abc import Callable
from typing import Any

import grpc

from evalward.server.settings import Settings
from evalward.v1 import evalward_pb2 as pb
from evalward.v1.evalward_pb2_grpc import GuardServiceStub

ENOUGH = 3_000
Start = Callable[..., Any]
Ask = Callable[..., pb.ValidateRequest]


def test_a_client_connects_anew_and_loses_no_call(start: Start, ask: Ask) -> None:
    running = start(settings=Settings(connection_age=1))
    ready, ended = threading.Event(), threading.Event()

    def changed(state: grpc.ChannelConnectivity) -> None:
        if state is grpc.ChannelConnectivity.READY:
            ready.set()
        elif ready.is_set():
            ended.set()

    with grpc.insecure_channel(running.address) as channel:
        channel.subscribe(changed, try_to_connect=True)
        stub = GuardServiceStub(channel)
        assert ready.wait(60)
        for _ in range(ENOUGH):
            assert stub.Validate(ask(), timeout=60).WhichOneof("outcome") == "allowed"
            if ended.wait(0.01):
                break
        assert ended.is_set()
        assert stub.Validate(ask(), timeout=60).WhichOneof("outcome") == "allowed"
