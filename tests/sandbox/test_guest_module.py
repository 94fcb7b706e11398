"""The rewritten guest module: its changes, and that it calls nothing outside itself."""

from __future__ import annotations

import hashlib

import pytest
import wasmtime

from evalward.sandbox import closing, guest
from evalward.sandbox.engine import Engine
from evalward.sandbox.wasm import (
    EXPORT,
    IMPORT,
    MAGIC,
    Module,
    Reader,
    WasmFormatError,
    signed,
    sized,
    unsigned,
)


@pytest.fixture(scope="module")
def built() -> guest.Guest:
    return guest.build_guest(guest.bootstrap_script())


@pytest.mark.parametrize("number", [0, 1, 63, 64, 127, 128, 300, 2**31 - 1, 2**32])
def test_leb128_is_read_back(number: int) -> None:
    assert number == Reader(unsigned(number)).unsigned()
    for value in (number, -number - 1):
        reader = Reader(signed(value) + b"\xff")
        reader.skip_leb()
        assert len(signed(value)) == reader.position


def test_reading_and_writing_changes_no_section() -> None:
    module = Module(guest.carrier())
    again = Module(module.encode())
    assert (module.order, module.sections) == (again.order, again.sections)


def test_not_wasm_is_refused() -> None:
    with pytest.raises(WasmFormatError):
        Module(b"\x7fELF")


def test_the_carrier_has_the_pinned_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    assert hashlib.sha256(guest.carrier()).hexdigest() == guest.CARRIER_SHA256
    guest.carrier.cache_clear()
    monkeypatch.setattr(guest, "CARRIER_SHA256", "0" * 64)
    with pytest.raises(guest.GuestIntegrityError):
        guest.carrier()
    guest.carrier.cache_clear()


def test_the_carrier_imports_what_is_closed() -> None:
    assert len(Module(guest.carrier()).function_imports()) == 13
    assert IMPORT not in closing.close_imports(guest.carrier()).sections


def test_an_unknown_import_is_refused() -> None:
    module = Module(guest.carrier())
    renamed = module.sections[IMPORT].replace(sized(b"fd_write"), sized(b"fd_wrlte"))
    module.sections[IMPORT] = renamed
    with pytest.raises(WasmFormatError, match="fd_wrlte"):
        closing.close_imports(module.encode())


@pytest.mark.exhaustive
def test_the_built_module_imports_nothing_and_exports_three_things(built: guest.Guest) -> None:
    module = Module(built.binary)
    assert IMPORT not in module.sections
    assert {"memory", "allocate", "evaluate"} == {export.name for export in module.exports}
    assert built.binary.startswith(MAGIC)
    assert EXPORT in module.sections


def test_the_compiled_module_imports_nothing() -> None:
    """Cached or not: this is the object that every evaluation instantiates."""
    module = Engine(guest.bootstrap_script()).module
    assert module.imports == []
    assert {"memory", "allocate", "evaluate"} == {export.name for export in module.exports}


def test_two_builds_are_equal(built: guest.Guest) -> None:
    assert built == guest.build_guest(guest.bootstrap_script())


def test_a_bootstrap_that_fails_says_why() -> None:
    with pytest.raises(guest.GuestIntegrityError, match="no such thing"):
        guest.build_guest("throw new Error('no such thing')")


def test_a_marker_that_is_not_there_is_refused() -> None:
    with pytest.raises(guest.GuestIntegrityError, match="marker"):
        guest.build_guest(guest.bootstrap_script(), marker=bytes(range(200, 232)))


def test_every_public_name_of_wasmtime_that_is_used_is_there() -> None:
    """The sandbox uses no private API; these are the public ones whose loss would show only at run time."""
    config = dir(wasmtime.Config)
    for name in (
        "consume_fuel", "epoch_interruption", "cranelift_opt_level", "max_wasm_stack", "memory_init_cow",
        "memory_reservation", "memory_guard_size", "memory_may_move",
    ):  # fmt: skip
        assert name in config
    assert {"set_limits", "set_epoch_deadline", "set_fuel", "get_fuel", "close"} <= set(dir(wasmtime.Store))
    assert {"INTERRUPT", "OUT_OF_FUEL", "STACK_OVERFLOW", "UNREACHABLE"} <= set(dir(wasmtime.TrapCode))
