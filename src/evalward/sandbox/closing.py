"""Close a guest module: replace every import by a function inside it, so that it cannot call the host.

A module without imports has no access to Python, a clock, entropy or files. The parts of WASI that the guest's engine
needs are implemented with two globals: a fixed clock and a seeded generator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evalward.sandbox import wasm
from evalward.sandbox.wasm import I32, I64, Module, WasmFormatError, integer_global, signed, sized, unsigned

if TYPE_CHECKING:
    from collections.abc import Callable

CLOCK_NANOSECONDS: Final = 1_700_000_000_000_000_000
"""The guest's fixed time: 2023-11-14T22:13:20Z."""

ENTROPY_SEED: Final = 0x1234567
IMPORT_RECORD: Final = "import_record"
"""Exported i32 global: 0, or the address where the stub writes (count, length, 256 bytes of specifier)."""
IMPORT_RECORD_BYTES: Final = 8 + 256

_BAD_DESCRIPTOR = b"\x41" + signed(8)  # WASI errno badf: there are no files


def i32(value: int) -> bytes:
    """Return the instruction that pushes a 32-bit constant."""
    return b"\x41" + signed(value)


def local(index: int) -> bytes:
    """Return ``local.get``."""
    return b"\x20" + unsigned(index)


def _get(index: int) -> bytes:
    return b"\x23" + unsigned(index)


def _set(index: int) -> bytes:
    return b"\x24" + unsigned(index)


def _random_get(seed: int) -> bytes:
    """Fill (pointer, length) with xorshift64 bytes: shifts 13, 7, 17 (Marsaglia 2003)."""
    step = b"".join(
        _get(seed) + _get(seed) + b"\x42" + signed(shift) + operator + b"\x85" + _set(seed)
        for shift, operator in ((13, b"\x86"), (7, b"\x88"), (17, b"\x86"))
    )
    store_byte = local(0) + _get(seed) + b"\x3c\x00\x00"
    advance = local(0) + i32(1) + b"\x6a\x21\x00" + local(1) + i32(1) + b"\x6b\x21\x01"
    leave_when_done = local(1) + b"\x45\x0d\x01"
    return b"\x02\x40\x03\x40" + leave_when_done + step + store_byte + advance + b"\x0c\x00\x0b\x0b" + i32(0)


def _record_import(record: int) -> bytes:
    """Count the dynamic import, store at most 256 bytes of its specifier (parameters 2 and 3), and find no module."""
    count = _get(record) + _get(record) + b"\x28\x02\x00" + i32(1) + b"\x6a\x36\x02\x00"
    clamp = local(3) + i32(256) + local(3) + i32(256) + b"\x49\x1b\x21\x03"
    length = _get(record) + local(3) + b"\x36\x02\x04"
    copy = _get(record) + i32(8) + b"\x6a" + local(2) + local(3) + b"\xfc\x0a\x00\x00"
    return _get(record) + b"\x04\x40" + count + clamp + length + copy + b"\x0b" + i32(0)


def close_imports(binary: bytes) -> Module:
    """Return the module with every import defined inside it.

    Function indices do not change, since imported functions come first in the index space and their replacements
    first among the defined ones. Raises WasmFormatError for an import without a replacement.
    """
    module = Module(binary)
    imports = module.function_imports()
    globals_ = module.global_variables
    clock, seed, record = (len(globals_) + offset for offset in range(3))
    module.set_global_variables(
        [
            *globals_,
            integer_global(I64, CLOCK_NANOSECONDS),
            integer_global(I64, ENTROPY_SEED),
            integer_global(I32, 0),
        ]
    )
    zero_two_counts = local(0) + i32(0) + b"\x36\x02\x00" + local(1) + i32(0) + b"\x36\x02\x00" + i32(0)
    bodies: dict[str, Callable[[], bytes]] = {
        "random_get": lambda: _random_get(seed),
        "clock_time_get": lambda: local(2) + _get(clock) + b"\x37\x03\x00" + i32(0),
        "proc_exit": lambda: b"\x00",  # unreachable: an abort of the guest is a trap
        "environ_sizes_get": lambda: zero_two_counts,
        "environ_get": lambda: i32(0),
        "fd_close": lambda: _BAD_DESCRIPTOR,
        "fd_fdstat_get": lambda: _BAD_DESCRIPTOR,
        "fd_seek": lambda: _BAD_DESCRIPTOR,
        "fd_write": lambda: _BAD_DESCRIPTOR,
        "host_interrupt": lambda: i32(0),
        "host_call": lambda: i32(-1),
        "host_module_normalize": lambda: _record_import(record),
        "host_module_load": lambda: i32(0),
    }
    if unknown := sorted({name for name, _ in imports} - bodies.keys()):
        raise WasmFormatError(f"no replacement for the imports {', '.join(unknown)}")
    no_locals = b"\x00"
    module.prepend(wasm.FUNCTION, [unsigned(type_index) for _, type_index in imports])
    module.prepend(wasm.CODE, [sized(no_locals + bodies[name]() + wasm.END) for name, _ in imports])
    module.drop(wasm.IMPORT)
    module.set_exports([*module.exports, wasm.Export(IMPORT_RECORD, wasm.EXPORT_GLOBAL, record)])
    return module
