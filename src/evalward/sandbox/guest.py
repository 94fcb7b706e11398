"""Build the guest module: QuickJS with closed imports, its bootstrap script run and its memory baked in.

The carrier is ``guest/quickjs-guest.wasm``, QuickJS-ng behind rquickjs as published in quickjs-rs 0.2.6 (MIT). It
ships as package data, not as a dependency: evalward is imported into other servers, where an exact pin could conflict
with their packages.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

import wasmtime

from evalward.sandbox import wasm
from evalward.sandbox.closing import IMPORT_RECORD, IMPORT_RECORD_BYTES, close_imports, i32
from evalward.sandbox.snapshot import bake
from evalward.sandbox.wasm import Export, WasmFormatError, unsigned

CARRIER_SHA256: Final = "647ab11ae29cc6d39a6d17d3aa1e7a6a0b5fb9c44b4864475a18bc644f926050"

_STACK_POINTER: Final = 0
_HEADROOM_BYTES: Final = 4 << 20
"""Subtracted from the guest's own limit, so that it throws before wasmtime rejects growing the memory."""


# The control block: words written by the host, by `evaluate`, and by the stub of dynamic imports; then room
# for a request, so that a short one needs no allocation.
REQUEST_ADDRESS, REQUEST_LENGTH, MEMORY_LIMIT, STATUS, OUTPUT, IMPORTS = 0, 4, 8, 12, 16, 20
INLINE_REQUEST: Final = IMPORTS + IMPORT_RECORD_BYTES
INLINE_BYTES: Final = 16 << 10


class GuestIntegrityError(RuntimeError):
    """The carrier or the bootstrap is not the one that this version was built for."""


@dataclass(frozen=True, slots=True)
class Guest:
    """A module without imports that exports ``memory``, ``allocate(length) -> address``, ``evaluate()``.

    ``control`` is the address of the block for communication with the host (see the offsets above), ``marker`` that
    of the bytes that the bootstrap marked, or 0.
    """

    binary: bytes
    control: int
    marker: int


@cache
def carrier() -> bytes:
    """Return the QuickJS module; raise GuestIntegrityError when its hash is not the pinned one."""
    binary = files(__package__).joinpath("guest", "quickjs-guest.wasm").read_bytes()
    if hashlib.sha256(binary).hexdigest() != CARRIER_SHA256:
        raise GuestIntegrityError("the QuickJS guest does not have the expected hash")
    return binary


def bootstrap_script() -> str:
    """Return the script that runs in the guest before its image is taken."""
    return files(__package__).joinpath("bootstrap.js").read_text(encoding="utf-8")


def build_guest(bootstrap: str, *, marker: bytes = b"") -> Guest:
    """Run ``bootstrap`` (an expression that gives ``[run, finish]``) once and return the baked guest.

    With ``marker``, those bytes must occur once in the guest's memory afterwards: they mark a buffer for the host.
    """
    closed = close_imports(carrier())
    session = _Session(closed.encode())
    run, finish = session.start(bootstrap)
    undefined = session.call("new_undefined")
    session.call("run_gc")
    arguments, control = session.allocate(8), session.allocate(INLINE_REQUEST + INLINE_BYTES)
    image = session.memory()
    found = image.find(marker) if marker else 0
    if found < 0 or (marker and image.find(marker, found + 1) >= 0):
        raise GuestIntegrityError("the bootstrap's marker is not in the guest's memory exactly once")
    functions = {e.name: e.index for e in closed.exports if e.kind == wasm.EXPORT_FUNCTION}
    record_global = next(e.index for e in closed.exports if e.name == IMPORT_RECORD)
    body = _evaluate_body(functions, run, finish, undefined, arguments, control)
    closed.add_function("evaluate", b"", b"", body)
    bake(closed, image, {_STACK_POINTER: session.stack_pointer(), record_global: control + IMPORTS})
    kept = {"memory": "memory", "qjs_alloc": "allocate", "evaluate": "evaluate"}
    closed.set_exports([Export(kept[e.name], e.kind, e.index) for e in closed.exports if e.name in kept])
    return Guest(closed.encode(), control, found)


def _evaluate_body(  # noqa: PLR0913, PLR0917 - each is one handle or address that the code mentions
    functions: dict[str, int], run: int, finish: int, undefined: int, arguments: int, control: int
) -> bytes:
    """run(new_string(request)), pending jobs, finish(), get_string; a failing step's number is the status."""
    output = control + OUTPUT

    def call(name: str) -> bytes:
        return b"\x10" + unsigned(functions[name])

    def load(address: int) -> bytes:
        return i32(address) + b"\x28\x02\x00"

    def store(address: int, value: bytes) -> bytes:
        return i32(address) + value + b"\x36\x02\x00"

    def leave_on_failure(step: int) -> bytes:
        return b"\x04\x40" + store(control + STATUS, i32(-step)) + b"\x0f\x0b"

    def invoke(function: int, count: int) -> bytes:
        return (
            i32(function) + i32(undefined) + i32(arguments) + i32(count) + i32(output) + call("call_function")
        )

    request = load(control + REQUEST_ADDRESS) + load(control + REQUEST_LENGTH) + call("new_string")
    no_locals = b"\x00"
    return (
        no_locals
        + load(control + MEMORY_LIMIT)
        + call("set_memory_limit")
        + store(arguments, request)
        + invoke(run, 1)
        + leave_on_failure(1)
        + call("execute_pending_jobs")
        + b"\x1a"
        + invoke(finish, 0)
        + leave_on_failure(2)
        + load(output)
        + call("get_string")
        + leave_on_failure(3)
        + store(output, call("qjs_last_ptr"))
        + store(control + STATUS, call("qjs_last_len"))
    )


def engine_memory_limit(memory: int) -> int:
    """Return the allocation limit that QuickJS is given under a total of ``memory`` bytes."""
    return memory - _HEADROOM_BYTES


class _Session:
    """The closed guest, running, while its image is prepared."""

    def __init__(self, binary: bytes) -> None:
        config = wasmtime.Config()
        config.cranelift_opt_level = "none"  # this code runs once
        engine = wasmtime.Engine(config)
        self._store = wasmtime.Store(engine)
        module = wasmtime.Module(engine, binary)
        if module.imports:
            raise WasmFormatError("the closed guest still has imports")
        self._exports = wasmtime.Instance(self._store, module, []).exports(self._store)
        memory = self._exports["memory"]
        if not isinstance(memory, wasmtime.Memory):
            raise WasmFormatError("the guest exports no memory")
        self._memory = memory
        self.call("set_max_stack_size", 0)

    def call(self, name: str, *arguments: int) -> int:
        function: Any = self._exports[name]
        return int(function(self._store, *arguments) or 0)

    def allocate(self, size: int) -> int:
        address = self.call("qjs_alloc", size)
        self._memory.write(self._store, bytes(size), address)
        return address

    def memory(self) -> bytes:
        return bytes(self._memory.read(self._store))

    def stack_pointer(self) -> int:
        pointer: Any = self._exports["__stack_pointer"]
        return int(pointer.value(self._store))

    def start(self, script: str) -> tuple[int, int]:
        """Evaluate ``script`` and return the handles of the two functions in the array that it gives."""
        text = script.encode()
        address, out = self.allocate(len(text)), self.allocate(8)
        self._memory.write(self._store, text, address)
        if self.call("eval_code", address, len(text), out):
            raise GuestIntegrityError(f"the bootstrap script failed: {self._exception(out)}")
        array = self._word(out)
        handles = []
        for index in range(2):
            self.call("get_index", array, index, out)
            handles.append(self._word(out))
        return handles[0], handles[1]

    def _exception(self, out: int) -> str:
        self.call("last_exception", out)
        name = self.allocate(8)
        self._memory.write(self._store, b"message", name)
        self.call("get_prop", self._word(out), name, 7, out)
        self.call("get_string", self._word(out))
        start = self.call("qjs_last_ptr")
        return bytes(self._memory.read(self._store, start, start + self.call("qjs_last_len"))).decode()

    def _word(self, address: int) -> int:
        (word,) = struct.unpack("<i", self._memory.read(self._store, address, address + 4))
        return int(word)
