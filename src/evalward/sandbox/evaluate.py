"""Evaluate a payload: send one request to a fresh instance, and interpret its outcome."""

from __future__ import annotations

import json
import os
import re
import threading
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import wasmtime

from evalward.codes import Code
from evalward.guard.syntax.run_shape import choose_shape
from evalward.guard.target import Shape
from evalward.sandbox.engine import Engine, Run, stack_of
from evalward.sandbox.guest import GuestIntegrityError, bootstrap_script
from evalward.sandbox.outcome import MAX_ARGUMENT, ArgumentError, ConsoleLine, Evaluation, EvaluationLimits
from evalward.sandbox.shape import CALLED_SHAPES, program

if TYPE_CHECKING:
    from collections.abc import Callable

DEFAULT_LIMITS: Final = EvaluationLimits()
MAX_SEED: Final = 2**64 - 1
_GOLDEN_RATIO: Final = 0x9E37_79B9_7F4A_7C15
_HEAD_BYTES: Final = 16 << 10
# As in the bootstrap script, which truncates before it serialises.
_MAX_NAME: Final = 100
_MAX_MESSAGE: Final = 500
# A JavaScript string may contain a lone surrogate, which UTF-8 cannot encode.
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")

_TRAPS: Final = {
    wasmtime.TrapCode.INTERRUPT: Code.EVAL_TIMEOUT,
    wasmtime.TrapCode.OUT_OF_FUEL: Code.EVAL_FUEL_EXHAUSTED,
    wasmtime.TrapCode.STACK_OVERFLOW: Code.EVAL_STACK_LIMIT,
    # The guest has a second stack at the start of its memory: its overflow is an access out of bounds.
    wasmtime.TrapCode.MEMORY_OUT_OF_BOUNDS: Code.EVAL_STACK_LIMIT,
}
_LIMIT_OF: Final = {
    Code.EVAL_TIMEOUT: ("deadline_ms", "the deadline of {} ms passed"),
    Code.EVAL_FUEL_EXHAUSTED: ("fuel", "the fuel of {} instructions was used up"),
    Code.EVAL_MEMORY_LIMIT: ("memory_bytes", "the memory limit of {} bytes was reached"),
    Code.EVAL_STACK_LIMIT: ("stack_bytes", "the stack limit of {} bytes was reached"),
    Code.EVAL_RESULT_TOO_LARGE: ("result_bytes", "the result is larger than {} bytes"),
}
_PLAIN: Final = {
    Code.EVAL_UNSETTLED: "the promise that the payload returned never settled",
    Code.SANDBOX_UNAVAILABLE: "the sandbox's engine failed",
}
_ENDINGS: Final = {
    "memory": Code.EVAL_MEMORY_LIMIT,
    "too-large": Code.EVAL_RESULT_TOO_LARGE,
    "unsettled": Code.EVAL_UNSETTLED,
    "error": Code.EVAL_RUNTIME_ERROR,
}


class Sandbox:
    """Runs payloads in fresh, isolated guests. Safe for use by many threads; they run in parallel.

    The guard must have allowed the payload: the sandbox isolates, it does not judge. ``build`` creates the engine, on
    first use and again after a fault, which fails one call.
    """

    def __init__(self, build: Callable[[], Engine] | None = None) -> None:
        self._build = build or (lambda: Engine(bootstrap_script()))
        self._engine: Engine | None = None
        self._owner = 0
        self._lock = threading.Lock()

    def warm_up(self) -> None:
        """Create the engine now; raise GuestIntegrityError or wasmtime.WasmtimeError if that fails."""
        self._ready()

    def evaluate(  # noqa: PLR0913 - the payload, its frame, and how long to wait
        self,
        code: bytes,
        *,
        arg: bytes | None = None,
        shape: Shape | None = None,
        limits: EvaluationLimits = DEFAULT_LIMITS,
        seed: int = 0,
        patience: float | None = None,
    ) -> Evaluation:
        """Run ``code`` with the JSON ``arg`` and return the outcome.

        While another thread builds the engine, wait for it at most ``patience`` seconds (None: as long as it
        takes); SANDBOX_UNAVAILABLE when it takes longer.

        ``shape`` must be the one that the guard judged: ``choose_shape(code)`` when none was declared.
        Raises ValueError for code that is not UTF-8, a ``module`` and a seed out of range, ArgumentError
        for an argument that is not JSON.
        """
        text = code.decode()
        shape = shape or choose_shape(code)
        if shape is Shape.MODULE:
            raise ValueError("the sandbox runs no modules; allowed: script, expression, function, async_body")
        if not 0 <= seed <= MAX_SEED:
            raise ValueError(f"seed must be between 0 and {MAX_SEED}")
        request = _request(
            program(text, shape), _argument(arg), shape=shape, limits=limits, seed=_mixed(seed)
        )
        try:
            run = self._ready(patience).run(
                request,
                fuel=limits.fuel,
                deadline=limits.deadline_ms / 1000,
                memory=limits.memory_bytes,
                output=limits.result_bytes + 6 * limits.console_bytes + _HEAD_BYTES,
                stack=limits.stack_bytes,
            )
        except TimeoutError:
            return Evaluation(Code.SANDBOX_UNAVAILABLE, shape, message="the sandbox's engine is being built")
        except (wasmtime.WasmtimeError, GuestIntegrityError, OSError):
            self._discard()
            return Evaluation(Code.SANDBOX_UNAVAILABLE, shape, message=_PLAIN[Code.SANDBOX_UNAVAILABLE])
        evaluation = _outcome(run, shape, limits)
        if evaluation.code is Code.SANDBOX_UNAVAILABLE:
            self._discard()
        return evaluation

    def _ready(self, patience: float | None = None) -> Engine:
        if not self._lock.acquire(timeout=-1 if patience is None else max(0.0, patience)):
            raise TimeoutError
        try:
            # A forked child has the engine but not the thread that interrupts it.
            if self._engine is None or self._owner != os.getpid():
                self._engine, self._owner = self._build(), os.getpid()
            return self._engine
        finally:
            self._lock.release()

    def _discard(self) -> None:
        with self._lock:
            self._engine = None


@cache
def _shared() -> Sandbox:
    return Sandbox()


def evaluate(
    code: bytes,
    *,
    arg: bytes | None = None,
    shape: Shape | None = None,
    limits: EvaluationLimits = DEFAULT_LIMITS,
    seed: int = 0,
) -> Evaluation:
    """Evaluate in the process's own sandbox; as :meth:`Sandbox.evaluate`."""
    return _shared().evaluate(code, arg=arg, shape=shape, limits=limits, seed=seed)


def _argument(arg: bytes | None) -> str:
    if arg is None:
        return "null"
    if len(arg) > MAX_ARGUMENT:
        raise ArgumentError(f"the argument is larger than {MAX_ARGUMENT} bytes")
    try:
        json.loads(arg, parse_constant=_refuse_constant)
        return arg.decode()
    except (ValueError, RecursionError) as error:
        raise ArgumentError("the argument is not JSON in UTF-8") from error


def _mixed(seed: int) -> int:
    """Return 32 bits that depend on all 64 of ``seed`` (Fibonacci hashing, Knuth vol. 3 §6.4)."""
    return (seed * _GOLDEN_RATIO & MAX_SEED) >> 32


def _well_formed(text: str) -> str:
    return _LONE_SURROGATE.sub("\ufffd", text)


def _one_line(text: str, most: int) -> str:
    """Return the first line of a payload's text, without control, format and other invisible characters.

    It becomes part of messages, in which an escape sequence or a change of direction could forge the text around it.
    """
    line = (_well_formed(text).splitlines() or [""])[0]
    return "".join(character for character in line if character.isprintable())[:most]


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _request(source: str, argument: str, *, shape: Shape, limits: EvaluationLimits, seed: int) -> bytes:
    """Return the guest's request; the argument is already JSON and is inserted unchanged."""
    calls = "true" if shape in CALLED_SHAPES else "false"
    return (
        f'{{"source":{json.dumps(source, ensure_ascii=False)},"calls":{calls},"seed":{seed},'
        f'"output":{limits.result_bytes},"console":{limits.console_bytes},"arg":{argument}}}'
    ).encode()


def _outcome(run: Run, shape: Shape, limits: EvaluationLimits) -> Evaluation:
    if run.trap is not None:
        return _failure(_trapped(run, limits), run, shape, limits)
    if run.status <= 0:
        # A step of the bootstrap fails only without memory: it catches the payload's exceptions.
        return _failure(Code.EVAL_MEMORY_LIMIT, run, shape, limits)
    if run.status > len(run.output):
        return _failure(Code.EVAL_RESULT_TOO_LARGE, run, shape, limits)
    line, _, result = run.output.partition(b"\n")
    head: dict[str, Any] = json.loads(line)
    console = tuple(ConsoleLine(entry["level"], _well_formed(entry["text"])) for entry in head["console"])
    code = _ENDINGS.get(head["state"])
    if code is None and len(result) > limits.result_bytes:
        code = Code.EVAL_RESULT_TOO_LARGE
    if code is None:
        return Evaluation(None, shape, result or None, console, head["dropped"], run.fuel, run.memory)
    return _failure(code, run, shape, limits, head=head, console=console)


def _trapped(run: Run, limits: EvaluationLimits) -> Code:
    """Return the limit that a trap stands for; the guest's allocator aborts when memory is exhausted."""
    if run.trap in _TRAPS:
        return _TRAPS[run.trap]
    aborted_full = run.trap is wasmtime.TrapCode.UNREACHABLE and run.memory > limits.memory_bytes * 3 // 4
    return Code.EVAL_MEMORY_LIMIT if aborted_full else Code.SANDBOX_UNAVAILABLE


def _failure(  # noqa: PLR0913 - the run, its frame, and what the guest said of it
    code: Code,
    run: Run,
    shape: Shape,
    limits: EvaluationLimits,
    *,
    head: dict[str, Any] | None = None,
    console: tuple[ConsoleLine, ...] = (),
) -> Evaluation:
    thrown = (head or {}).get("failure") or {}
    limit = None
    error_name = None
    if code in _LIMIT_OF:
        name, message = _LIMIT_OF[code]
        value = getattr(limits, name)
        limit = (name, stack_of(value) if name == "stack_bytes" else value)
        message = message.format(limit[1])
    elif code in _PLAIN:
        message = _PLAIN[code]
    else:
        error_name = _one_line(thrown.get("name", "Error"), _MAX_NAME) or "Error"
        message = _one_line(thrown.get("message", ""), _MAX_MESSAGE)
    return Evaluation(
        code,
        shape,
        console=console,
        console_dropped=(head or {}).get("dropped", 0),
        fuel=run.fuel,
        memory=run.memory,
        error_name=error_name,
        message=message,
        limit=limit,
    )
