"""GetErrorStats: off by default, counted by code, kept over a graceful stop."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest

from evalward.errors import Code
from evalward.errors.stats import ErrorStats
from evalward.v1 import evalward_pb2 as pb

FLAGS = ("--listen", "127.0.0.1:0", "--allow-eval=renderer")


def ask(stub: Any, code: bytes, target: pb.Target.ValueType = pb.TARGET_RENDERER) -> None:
    stub.Validate(pb.ValidateRequest(code=code, target=target))


def test_it_is_unimplemented_unless_the_operator_opted_in(start: Callable[..., Any]) -> None:
    with pytest.raises(grpc.RpcError) as failure:
        start().stub.GetErrorStats(pb.GetErrorStatsRequest())

    assert failure.value.code() is grpc.StatusCode.UNIMPLEMENTED


@pytest.mark.exhaustive
def test_failures_are_counted_and_kept_for_the_next_run(
    serve: Callable[..., Any], stub_at: Callable[..., Any], tmp_path: Path
) -> None:
    flags = (*FLAGS, "--error-stats", "--error-stats-file", str(tmp_path / "stats.json"))
    first = serve(*flags)
    stub = stub_at(first.listen[0])
    ask(stub, b"document.title")
    ask(stub, b"process.exit()")
    ask(stub, b"1", pb.TARGET_MAIN)
    stub.ValidateBatch(
        pb.ValidateBatchRequest(items=[pb.ValidateRequest(code=b"(", target=pb.TARGET_RENDERER)] * 2)
    )
    assert first.terminate()[0] == 0

    stats = stub_at(serve(*flags, log=tmp_path / "second.jsonl").listen[0]).GetErrorStats(
        pb.GetErrorStatsRequest()
    )

    assert stats.total == 4
    assert dict(stats.by_symbol) == {
        "EVAL_BLOCKED_KEYWORD": 1,
        "EVAL_TARGET_DENIED": 1,
        "EVAL_SYNTAX_ERROR": 2,
    }
    assert dict(stats.by_code) == {3000: 1, 3004: 1, 3002: 2}
    assert (dict(stats.by_domain), stats.sampling) == ({"eval": 4}, 1.0)


def test_sampling_counts_every_nth_failure() -> None:
    stats = ErrorStats(every=3)

    for _ in range(10):
        stats.count(Code.EVAL_SYNTAX_ERROR)

    assert (stats.by_code(), stats.sampling) == ({Code.EVAL_SYNTAX_ERROR: 3}, 1 / 3)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"counts":{"NO_CODE":1}}', '{"counts":{"INTERNAL":-1}}'])
def test_a_file_that_holds_something_else_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "stats.json"
    file.write_text(text)

    with pytest.raises(ValueError, match=r"."):
        ErrorStats(file=file)


def test_saving_replaces_the_file_as_a_whole(tmp_path: Path) -> None:
    file = tmp_path / "stats.json"
    stats = ErrorStats(file=file)
    stats.count(Code.INTERNAL)
    stats.save()
    stats.count(Code.INTERNAL)
    stats.save()

    assert json.loads(file.read_text())["counts"] == {"INTERNAL": 2}
    assert file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["stats.json"]


@pytest.mark.exhaustive
@pytest.mark.parametrize("method", ["ListErrorCodes", "GetPolicy", "GetErrorStats"])
def test_what_asks_for_nothing_in_particular_is_answered_whatever_comes_with_it(
    method: str, serve: Callable[..., Any]
) -> None:
    with grpc.insecure_channel(serve(*FLAGS, "--error-stats").listen[0]) as channel:
        answer = channel.unary_unary(f"/evalward.v1.GuardService/{method}", None, None)

        for wire in (b"", b"\x0b", b"\xff" * 40, b"\x0a\x05x"):
            assert answer(wire, timeout=60) == answer(b"", timeout=60)
