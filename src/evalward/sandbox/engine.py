"""The engine: wasmtime configured for one-shot instances, the compiled guest, and its interruption at deadlines."""

from __future__ import annotations

import contextlib
import hashlib
import struct
import threading
import time
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

import wasmtime

from evalward.sandbox import cache
from evalward.sandbox.guest import (
    CARRIER_SHA256,
    IMPORTS,
    INLINE_BYTES,
    INLINE_REQUEST,
    OUTPUT,
    STATUS,
    Guest,
    build_guest,
    engine_memory_limit,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


MAX_MEMORY: Final = 256 << 20
"""Address space reserved for each instance, and so the largest memory limit, in bytes."""

MIN_MEMORY: Final = 16 << 20
TICK_SECONDS: Final = 0.002
"""The resolution of deadlines: a run ends within the last tick before its deadline, load permitting."""
STACK_BYTES: Final = 512 << 10
"""The largest wasm stack of an instance, in bytes."""
STACK_STEP: Final = 64 << 10
"""Stack sizes are multiples of this: wasmtime fixes the size per engine, so each size needs its own engine."""
MIN_STACK: Final = STACK_STEP

_GUARD: Final = 32 << 20
# Increase it when this package changes the baked guest.
_FORMAT: Final = 2


def stack_of(wished: int) -> int:
    """Return the stack size, in bytes, of a run with the limit ``wished``."""
    return wished // STACK_STEP * STACK_STEP


@dataclass(frozen=True, slots=True)
class Run:
    """The result of one instance.

    ``trap`` names the trap that ended it, ``status`` is the length of the guest's output, minus the number of
    the step that failed, or 0 when there was no room for the request.
    ``output`` is the guest's text, cut off when it is longer than was asked for; ``fuel`` counts wasm
    instructions, ``memory`` is the instance's final size in bytes. ``window`` is a copy of the bytes at the
    marker, ``imports`` counts dynamic imports and ``specifier`` names the last: all are there after a trap
    too.
    """

    trap: wasmtime.TrapCode | None
    status: int
    output: bytes
    fuel: int
    memory: int
    window: bytes
    imports: int
    specifier: str


class Engine:
    """A compiled guest. Safe for use by many threads at once; wasm runs without the GIL.

    Building one takes about two seconds, or some tens of milliseconds when the compiled module is cached.
    Raises GuestIntegrityError when the guest is not the pinned one, wasmtime.WasmtimeError when it cannot be
    compiled.
    """

    def __init__(self, bootstrap: str, *, marker: bytes = b"", window: int = 0) -> None:
        self._engine = _engine(STACK_BYTES)
        self._window = window
        self.module, self._guest = self._compiled(bootstrap, marker)
        self._ticker = _Ticker(self._engine)
        self._by_stack = {STACK_BYTES: (self._engine, self.module)}
        self._lock = threading.Lock()

    def _with_stack(self, size: int) -> tuple[wasmtime.Engine, wasmtime.Module]:
        """Return the engine with a stack of ``size`` bytes; creating one takes some milliseconds, once per size."""
        found = self._by_stack.get(size)
        if found is not None:
            return found
        with self._lock:
            if size not in self._by_stack:
                engine = _engine(size)
                # The stack size is checked at run time, so that all engines share the compiled code.
                module = wasmtime.Module.deserialize(engine, self.module.serialize())
                self._ticker.add(engine)
                self._by_stack[size] = engine, module
            return self._by_stack[size]

    def _compiled(self, bootstrap: str, marker: bytes) -> tuple[wasmtime.Module, Guest]:
        key = self._key(bootstrap, marker)
        directory = cache.cache_directory()
        if directory and (entry := cache.load(directory, key)):
            layout, code = entry
            with contextlib.suppress(wasmtime.WasmtimeError, TypeError):
                return wasmtime.Module.deserialize(self._engine, code), Guest(b"", **layout)
        guest = build_guest(bootstrap, marker=marker)
        module = wasmtime.Module(self._engine, guest.binary)
        if directory:
            layout = {"control": guest.control, "marker": guest.marker}
            cache.store(directory, key, layout, bytes(module.serialize()))
        return module, guest

    @staticmethod
    def _key(bootstrap: str, marker: bytes) -> str:
        parts = (str(_FORMAT), version("wasmtime"), CARRIER_SHA256, bootstrap, marker.hex())
        settings = (str(n) for n in (STACK_BYTES, MAX_MEMORY, _GUARD))
        return hashlib.sha256("\0".join([*parts, *settings]).encode()).hexdigest()

    def run(  # noqa: PLR0913 - the request and one parameter per limit
        self,
        request: bytes,
        *,
        fuel: int,
        deadline: float,
        memory: int,
        output: int,
        stack: int = STACK_BYTES,
    ) -> Run:
        """Evaluate ``request`` in a fresh instance, which is discarded afterwards.

        ``deadline`` is in seconds, ``memory``, ``output`` and ``stack`` (see ``stack_of``) are limits in bytes. Raises
        wasmtime.WasmtimeError when the instance cannot be made.
        """
        engine, module = self._with_stack(stack_of(stack))
        with self._ticker.running(), contextlib.closing(wasmtime.Store(engine)) as store:
            store.set_limits(memory_size=memory, instances=1, memories=1, tables=4)
            # The next tick may be due immediately, so that a deadline of one tick could be zero.
            store.set_epoch_deadline(max(2, int(deadline / TICK_SECONDS)))
            store.set_fuel(fuel)
            exports = wasmtime.Instance(store, module, []).exports(store)
            linear, evaluate = exports["memory"], exports["evaluate"]
            assert isinstance(linear, wasmtime.Memory)  # noqa: S101 - build_guest exports these
            assert isinstance(evaluate, wasmtime.Func)  # noqa: S101
            control, trap = self._guest.control, None
            try:
                if self._place(store, exports, request, engine_memory_limit(memory)):
                    evaluate(store)
            except wasmtime.Trap as error:
                trap = error.trap_code
            block = linear.read(store, control, control + INLINE_REQUEST)
            (status,) = struct.unpack_from("<i", block, STATUS)
            address, imports, length = struct.unpack_from("<III", block, OUTPUT)
            marker = self._guest.marker
            return Run(
                trap=trap,
                status=status,
                output=bytes(linear.read(store, address, address + min(status, output)))
                if status > 0
                else b"",
                fuel=fuel - store.get_fuel(),
                memory=linear.data_len(store),
                window=bytes(linear.read(store, marker, marker + self._window)) if self._window else b"",
                imports=imports,
                specifier=block[IMPORTS + 8 :][:length].decode(errors="replace"),
            )

    def _place(
        self,
        store: wasmtime.Store,
        exports: Mapping[str, object],
        request: bytes,
        memory_limit: int,
    ) -> bool:
        """Write the request and its control words; return False if the guest has no memory for it."""
        linear, control = exports["memory"], self._guest.control
        assert isinstance(linear, wasmtime.Memory)  # noqa: S101 - build_guest exports it
        if len(request) <= INLINE_BYTES:
            head = struct.pack("<III", control + INLINE_REQUEST, len(request), memory_limit)
            linear.write(store, head.ljust(INLINE_REQUEST, b"\0") + request, control)
            return True
        allocate = exports["allocate"]
        assert isinstance(allocate, wasmtime.Func)  # noqa: S101 - build_guest exports it
        address = allocate(store, len(request))
        if not address:
            return False
        linear.write(store, struct.pack("<III", address, len(request), memory_limit), control)
        linear.write(store, request, address)
        return True


def _engine(stack: int) -> wasmtime.Engine:
    config = wasmtime.Config()
    config.consume_fuel = True
    config.epoch_interruption = True
    config.cranelift_opt_level = "speed"
    config.max_wasm_stack = stack
    config.memory_init_cow = True
    config.memory_reservation = MAX_MEMORY
    config.memory_guard_size = _GUARD
    config.memory_may_move = False
    return wasmtime.Engine(config)


class _Ticker:
    """Advances the engines' epoch by one every TICK_SECONDS while something runs, and sleeps otherwise.

    On a busy machine the thread wakes late, so missed ticks are added by the clock; otherwise deadlines would be
    extended. A run begins with a current epoch, so that earlier time does not count against it.
    """

    def __init__(self, engine: wasmtime.Engine) -> None:
        self._engines = [engine]
        self._active = 0
        self._origin = 0.0
        self._ticks = 0
        self._changed = threading.Condition()
        threading.Thread(target=self._tick, name="evalward-epoch", daemon=True).start()

    def add(self, engine: wasmtime.Engine) -> None:
        """Advance ``engine`` too."""
        with self._changed:
            self._engines.append(engine)

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        with self._changed:
            self._active += 1
            if self._active == 1:
                self._origin, self._ticks = time.monotonic(), 0
                self._changed.notify()
            else:
                self._catch_up()
        try:
            yield
        finally:
            with self._changed:
                self._active -= 1

    def _catch_up(self) -> None:
        due = int((time.monotonic() - self._origin) / TICK_SECONDS)
        for _ in range(due - self._ticks):
            for engine in self._engines:
                engine.increment_epoch()
        self._ticks = due

    def _tick(self) -> None:
        interval = threading.Event()
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._active > 0)
                self._catch_up()
            interval.wait(TICK_SECONDS)
