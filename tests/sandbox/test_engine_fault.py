"""A fault of the engine costs one call; a full pool rejects immediately."""

from __future__ import annotations

import os
import threading
from typing import Any

import pytest
import wasmtime

from evalward.errors import REGISTRY, Code
from evalward.sandbox import Evaluation, Sandbox, SandboxBusyError, SandboxPool
from evalward.sandbox.engine import Engine, Run
from evalward.sandbox.guest import GuestIntegrityError, bootstrap_script


class Faulty(Engine):
    """Fails once, in one of the ways in which wasmtime does."""

    fault: Exception | Run | None = None

    def run(self, request: bytes, **limits: Any) -> Run:
        fault, Faulty.fault = Faulty.fault, None
        if isinstance(fault, Exception):
            raise fault
        return fault or super().run(request, **limits)


def aborted(memory: int) -> Run:
    return Run(wasmtime.TrapCode.UNREACHABLE, 0, b"", 1, memory, b"", 0, "")


@pytest.mark.parametrize(
    "fault", [wasmtime.WasmtimeError("no memory left"), OSError("mmap"), aborted(1 << 20)]
)
def test_a_fault_costs_one_call_and_the_engine_is_rebuilt(fault: Exception | Run) -> None:
    built = []

    def build() -> Engine:
        built.append(1)
        return Faulty(bootstrap_script())

    sandbox = Sandbox(build)
    assert sandbox.evaluate(b"1").ok
    Faulty.fault = fault
    failed = sandbox.evaluate(b"1")
    assert failed.code is Code.SANDBOX_UNAVAILABLE
    assert REGISTRY[failed.code].retryable
    assert sandbox.evaluate(b"1").ok
    assert len(built) == 2


def test_an_abort_of_a_full_guest_is_the_memory_limit() -> None:
    sandbox = Sandbox(lambda: Faulty(bootstrap_script()))
    Faulty.fault = aborted(63 << 20)
    assert sandbox.evaluate(b"1").code is Code.EVAL_MEMORY_LIMIT


def test_another_process_builds_an_engine_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A forked child lacks the thread that ends a run at its deadline."""
    built = []

    def build() -> Engine:
        built.append(1)
        return Engine(bootstrap_script())

    sandbox = Sandbox(build)
    assert sandbox.evaluate(b"1").ok
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert sandbox.evaluate(b"1").ok
    assert len(built) == 2


def test_an_engine_that_cannot_be_built_fails_closed() -> None:
    def build() -> Engine:
        raise GuestIntegrityError("tampered")

    assert Sandbox(build).evaluate(b"1").code is Code.SANDBOX_UNAVAILABLE


def test_a_full_pool_refuses_at_once_and_recovers() -> None:
    entered, leave = threading.Event(), threading.Event()

    class Slow(Sandbox):
        def evaluate(self, *_: object, **__: object) -> Evaluation:
            entered.set()
            assert leave.wait(30)
            return Sandbox.evaluate(self, b"1")

    pool = SandboxPool(Slow(), workers=1, queue=0)
    answers: list[Evaluation] = []
    thread = threading.Thread(target=lambda: answers.append(pool.evaluate(b"1")))
    thread.start()
    assert entered.wait(30)
    with pytest.raises(SandboxBusyError) as full:
        pool.evaluate(b"1")
    leave.set()
    thread.join()
    assert (full.value.limit, full.value.allowed) == ("queue", 0)
    assert pool.evaluate(b"1").ok
    assert answers[0].ok


def test_waiting_for_a_worker_ends_with_the_callers_patience() -> None:
    entered, leave = threading.Event(), threading.Event()

    class Slow(Sandbox):
        def evaluate(self, *_: object, **__: object) -> Evaluation:
            entered.set()
            assert leave.wait(30)
            return Sandbox.evaluate(self, b"1")

    pool = SandboxPool(Slow(), workers=1, queue=1)
    thread = threading.Thread(target=lambda: pool.evaluate(b"1"))
    thread.start()
    assert entered.wait(30)
    with pytest.raises(SandboxBusyError) as late:
        pool.evaluate(b"1", patience=0.01)
    leave.set()
    thread.join()
    assert (late.value.limit, late.value.allowed) == ("workers", 1)
    assert pool.evaluate(b"1", patience=0.01).ok


def test_waiting_for_an_engine_that_another_thread_builds_ends_with_the_callers_patience() -> None:
    entered, leave = threading.Event(), threading.Event()

    def build() -> Engine:
        entered.set()
        assert leave.wait(30)
        return Engine(bootstrap_script())

    sandbox = Sandbox(build)
    builder = threading.Thread(target=sandbox.warm_up)
    builder.start()
    assert entered.wait(30)
    late = sandbox.evaluate(b"1", patience=0.01)
    leave.set()
    builder.join()
    assert late.code is Code.SANDBOX_UNAVAILABLE
    assert sandbox.evaluate(b"1", patience=0.01).ok
