"""The standard services of the real ``evalward serve``: health always, and reflection on request."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

EVALWARD = Path(sys.executable).with_name("evalward")

Serve = Callable[..., Any]


def test_health_answers_the_standard_protocol_and_the_command(serve: Serve, tmp_path: Path) -> None:
    process = serve("--listen", "127.0.0.1:0", "--listen", f"unix:{tmp_path}/e.sock")

    for address in process.listen:
        with grpc.insecure_channel(address) as channel:
            stub = health_pb2_grpc.HealthStub(channel)
            for service in ("", "evalward.v1.GuardService"):
                status = stub.Check(health_pb2.HealthCheckRequest(service=service)).status
                assert status == health_pb2.HealthCheckResponse.SERVING
        assert subprocess.run([EVALWARD, "health", address], check=False).returncode == 0
    process.terminate()
    assert subprocess.run([EVALWARD, "health", process.listen[0]], check=False).returncode == 3


def reflected(address: str, *metadata: tuple[str, str]) -> set[str]:
    """Return the services that reflection lists."""
    with grpc.insecure_channel(address) as channel:
        stub = reflection_pb2_grpc.ServerReflectionStub(channel)
        (answer,) = stub.ServerReflectionInfo(
            iter([reflection_pb2.ServerReflectionRequest(list_services="")]), metadata=metadata
        )
        return {service.name for service in answer.list_services_response.service}


def test_reflection_is_off_by_default(serve: Serve) -> None:
    process = serve("--listen", "127.0.0.1:0")

    with pytest.raises(grpc.RpcError) as failure:
        reflected(process.listen[0])

    assert failure.value.code() is grpc.StatusCode.UNIMPLEMENTED
    assert "weakened" not in process.log_lines()[0]


def test_reflection_on_request_is_in_the_start_record(serve: Serve) -> None:
    process = serve("--listen", "127.0.0.1:0", "--reflection")

    assert "evalward.v1.GuardService" in reflected(process.listen[0])
    assert process.log_lines()[0]["weakened"] == ["reflection"]


def test_reflection_asks_for_the_token_and_health_does_not(serve: Serve, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.touch(0o600)
    tokens.write_text("a-token-of-the-test")
    process = serve("--listen", "127.0.0.1:0", "--reflection", "--token-file", str(tokens))
    address = process.listen[0]

    for metadata in [(), (("authorization", "Bearer another-token"),)]:
        with pytest.raises(grpc.RpcError) as failure:
            reflected(address, *metadata)
        assert failure.value.code() is grpc.StatusCode.UNAUTHENTICATED

    assert "evalward.v1.GuardService" in reflected(address, ("authorization", "Bearer a-token-of-the-test"))
    with grpc.insecure_channel(address) as channel:
        said = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest())
        assert said.status == health_pb2.HealthCheckResponse.SERVING
