"""Every hostile payload ends within its limits, on four threads, while concurrent benign calls stay correct."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml

from evalward.errors import Code
from evalward.guard.target import Shape
from evalward.sandbox import Evaluation, EvaluationLimits, Sandbox

HOSTILE = yaml.safe_load(
    (Path(__file__).parents[1] / "data/sandbox/hostile.yaml").read_text(encoding="utf-8")
)
DEADLINE_MS = 100
GRACE_MS = 50
# The fuel limit is raised, so that the deadline applies.
WALL = EvaluationLimits(fuel=4_000_000_000, deadline_ms=DEADLINE_MS)
CONTAINED = {
    None,
    Code.EVAL_RUNTIME_ERROR,
    Code.EVAL_FUEL_EXHAUSTED,
    Code.EVAL_TIMEOUT,
    Code.EVAL_MEMORY_LIMIT,
    Code.EVAL_STACK_LIMIT,
    Code.EVAL_RESULT_TOO_LARGE,
    Code.EVAL_UNSETTLED,
}


@pytest.fixture(scope="module")
def sandbox() -> Sandbox:
    found = Sandbox()
    found.warm_up()
    return found


def test_there_are_enough_of_them() -> None:
    assert len(HOSTILE) >= 50
    assert len({case["id"] for case in HOSTILE}) == len(HOSTILE)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("case", HOSTILE, ids=[case["id"] for case in HOSTILE])
def test_default_limits_contain_it(sandbox: Sandbox, case: dict[str, str]) -> None:
    evaluation = sandbox.evaluate(case["code"].encode(), shape=Shape.SCRIPT)
    assert evaluation.code in CONTAINED
    assert evaluation.memory <= EvaluationLimits().memory_bytes
    assert evaluation.fuel <= EvaluationLimits().fuel


@pytest.mark.exhaustive
def test_deadline_and_memory_hold_on_four_threads_beside_benign_calls(sandbox: Sandbox) -> None:
    """A call that is late among others is repeated alone, to exclude the load of other programs."""
    stop = threading.Event()

    def benign(number: int) -> int:
        wrong = done = 0
        while not stop.is_set():
            answer = sandbox.evaluate(f"[{number}, 2, 3].map(x => x * 2).join('-')".encode())
            wrong += answer.result != f'"{number * 2}-4-6"'.encode()
            done += 1
        assert done
        return wrong

    def hostile(case: dict[str, str]) -> tuple[float, Evaluation]:
        begin = time.perf_counter()
        evaluation = sandbox.evaluate(case["code"].encode(), shape=Shape.SCRIPT, limits=WALL)
        return (time.perf_counter() - begin) * 1000, evaluation

    with ThreadPoolExecutor(4) as pool:
        beside = pool.submit(benign, 7)
        outcomes = list(zip(HOSTILE, pool.map(hostile, HOSTILE), strict=True))
        stop.set()
        assert beside.result() == 0
    assert {case["id"]: e.code for case, (_, e) in outcomes if e.code not in CONTAINED} == {}
    assert {case["id"]: e.memory for case, (_, e) in outcomes if e.memory > WALL.memory_bytes} == {}
    late = [case for case, (ms, _) in outcomes if ms > DEADLINE_MS + GRACE_MS]
    alone = {case["id"]: min(hostile(case)[0] for _ in range(5)) for case in late}
    assert {name: ms for name, ms in alone.items() if ms > DEADLINE_MS + GRACE_MS} == {}
