"""Bake a running guest's memory into its module, as Wizer does: a new instance starts from that state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evalward.sandbox import wasm
from evalward.sandbox.wasm import (
    I32,
    Module,
    WasmFormatError,
    integer_global,
    signed,
    sized,
    unsigned,
    vector,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

_WASM_PAGE: Final = 65_536
_HOST_PAGE: Final = 4096


def bake(module: Module, memory: bytes, globals_: Mapping[int, int]) -> None:
    """Make ``memory`` the initial memory and ``globals_`` (index to i32 value) the initial globals."""
    items = module.global_variables
    for index, value in globals_.items():
        if items[index].type != I32 or not items[index].mutable:
            raise WasmFormatError(f"global {index} cannot hold a snapshot value")
        items[index] = integer_global(I32, value)
    module.set_global_variables(items)
    pages = -(-len(memory) // _WASM_PAGE)
    module.sections[wasm.MEMORY] = vector([b"\x00" + unsigned(pages)])
    segments = [
        b"\x00\x41" + signed(start) + wasm.END + sized(memory[start:stop]) for start, stop in _written(memory)
    ]
    module.sections[wasm.DATA] = vector(segments)
    if wasm.DATA_COUNT in module.sections:
        module.sections[wasm.DATA_COUNT] = unsigned(len(segments))
    module.drop(wasm.START)  # it has run


def _written(memory: bytes) -> list[tuple[int, int]]:
    """Return the ranges of whole pages that are not all zero."""
    zero = bytes(_HOST_PAGE)
    ranges: list[tuple[int, int]] = []
    for start in range(0, len(memory), _HOST_PAGE):
        stop = min(start + _HOST_PAGE, len(memory))
        if memory[start:stop] == zero[: stop - start]:
            continue
        if ranges and ranges[-1][1] == start:
            ranges[-1] = (ranges[-1][0], stop)
        else:
            ranges.append((start, stop))
    return ranges
