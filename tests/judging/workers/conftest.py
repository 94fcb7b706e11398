"""Pools of real worker processes, and jobs for them."""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from evalward.guard.rules import Rules
from evalward.guard.target import Target
from evalward.judging.executor import Job
from evalward.judging.workers.worker_pool import WorkerPool

ROGUE = (sys.executable, "-P", str(Path(__file__).with_name("rogue.py")))
RULES = Rules(allowed=True)


@pytest.fixture
def pool() -> Iterator[Callable[..., WorkerPool]]:
    """Start pools; they are closed at the end of the test."""
    with ExitStack() as stack:

        def begin(count: int = 1, *, queue: int = 8, **rest: Any) -> WorkerPool:
            made = WorkerPool(count, queue=queue, **rest)
            stack.callback(made.close)
            return made

        yield begin


@pytest.fixture
def rogues() -> tuple[str, ...]:
    """Return the command of workers that misbehave as a payload names it (``rogue.py``)."""
    return ROGUE


@pytest.fixture
def job() -> Callable[..., Job]:
    """Return a job for the renderer."""

    def make(payload: bytes, rules: Rules = RULES, **rest: Any) -> Job:
        return Job(payload, Target.RENDERER, rest.pop("shape", None), rules, **rest)

    return make
