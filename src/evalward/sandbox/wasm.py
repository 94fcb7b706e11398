"""Read and write the parts of a WebAssembly binary that the sandbox rewrites (WebAssembly 2.0, §5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MAGIC: Final = b"\0asm\x01\0\0\0"

CUSTOM, TYPE, IMPORT, FUNCTION, MEMORY, GLOBAL, EXPORT, START, CODE, DATA, DATA_COUNT = (
    0,
    1,
    2,
    3,
    5,
    6,
    7,
    8,
    10,
    11,
    12,
)
EXPORT_FUNCTION, EXPORT_MEMORY, EXPORT_GLOBAL = 0, 2, 3
I32, I64 = 0x7F, 0x7E
END: Final = b"\x0b"


class WasmFormatError(ValueError):
    """The binary has a form that the rewriter does not support."""


def unsigned(number: int) -> bytes:
    """Encode ``number`` as unsigned LEB128."""
    out = bytearray()
    while number > 0x7F:  # noqa: PLR2004 - seven bits a byte is what LEB128 is
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def signed(number: int) -> bytes:
    """Encode ``number`` as signed LEB128."""
    out = bytearray()
    while True:
        low = number & 0x7F
        number >>= 7
        if number == (-1 if low & 0x40 else 0):
            out.append(low)
            return bytes(out)
        out.append(low | 0x80)


def vector(items: list[bytes]) -> bytes:
    """Encode a vector: its length, then its items."""
    return unsigned(len(items)) + b"".join(items)


def sized(content: bytes) -> bytes:
    """Encode bytes with a length prefix, as in names, sections and function bodies."""
    return unsigned(len(content)) + content


class Reader:
    """A cursor over bytes."""

    def __init__(self, data: bytes, position: int = 0) -> None:
        self.data = data
        self.position = position

    def byte(self) -> int:
        """Read one byte."""
        self.position += 1
        return self.data[self.position - 1]

    def take(self, count: int) -> bytes:
        """Read ``count`` bytes."""
        start, self.position = self.position, self.position + count
        return self.data[start : self.position]

    def rest(self) -> bytes:
        """Read the remaining bytes."""
        return self.take(len(self.data) - self.position)

    def unsigned(self) -> int:
        """Read an unsigned LEB128 number."""
        result = shift = 0
        while True:
            byte = self.byte()
            result |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return result

    def skip_leb(self) -> None:
        """Skip a signed or unsigned LEB128 number."""
        while self.byte() & 0x80:
            pass

    def name(self) -> str:
        """Read a name."""
        return self.take(self.unsigned()).decode()


@dataclass(frozen=True, slots=True)
class Export:
    """An exported item: ``kind`` is one of the EXPORT_ constants, ``index`` its index in that space."""

    name: str
    kind: int
    index: int

    def encode(self) -> bytes:
        """Return the export in binary."""
        return sized(self.name.encode()) + bytes([self.kind]) + unsigned(self.index)


@dataclass(frozen=True, slots=True)
class Global:
    """A global variable: value type, mutability, and its initialiser with the final ``end``."""

    type: int
    mutable: bool
    initialiser: bytes

    def encode(self) -> bytes:
        """Return the global in binary."""
        return bytes([self.type, self.mutable]) + self.initialiser


def integer_global(type_: int, value: int) -> Global:
    """Return a mutable i32 or i64 global that starts as ``value``."""
    return Global(
        type_, mutable=True, initialiser=bytes([0x41 if type_ == I32 else 0x42]) + signed(value) + END
    )


class Module:
    """A module as its sections; every change replaces one section's bytes."""

    def __init__(self, binary: bytes) -> None:
        if not binary.startswith(MAGIC):
            raise WasmFormatError("not a WebAssembly binary")
        reader = Reader(binary, len(MAGIC))
        self.sections: dict[int, bytes] = {}
        self.order: list[int] = []
        while reader.position < len(binary):
            section, content = reader.byte(), reader.take(reader.unsigned())
            if section == CUSTOM:
                continue  # names and producers: without meaning, and they cost compile time
            self.sections[section] = content
            self.order.append(section)

    def encode(self) -> bytes:
        """Return the module in binary."""
        return MAGIC + b"".join(
            bytes([s]) + sized(self.sections[s]) for s in self.order if s in self.sections
        )

    def drop(self, section: int) -> None:
        """Remove a section if it is there."""
        self.sections.pop(section, None)

    def count(self, section: int) -> int:
        """Return how many items the section's vector holds."""
        return Reader(self.sections[section]).unsigned()

    def append(self, section: int, item: bytes) -> int:
        """Add an item at the end of a section's vector and return its place there."""
        reader = Reader(self.sections[section])
        count = reader.unsigned()
        self.sections[section] = unsigned(count + 1) + reader.rest() + item
        return count

    def prepend(self, section: int, items: list[bytes]) -> None:
        """Add items at the start of a section's vector."""
        reader = Reader(self.sections[section])
        count = reader.unsigned()
        self.sections[section] = unsigned(count + len(items)) + b"".join(items) + reader.rest()

    def function_imports(self) -> list[tuple[str, int]]:
        """Return (name, type index) of every import; raise WasmFormatError unless all are functions."""
        reader = Reader(self.sections[IMPORT])
        imports = []
        for _ in range(reader.unsigned()):
            reader.name()
            name, kind = reader.name(), reader.byte()
            if kind != EXPORT_FUNCTION:
                raise WasmFormatError(f"import {name!r} is not a function")
            imports.append((name, reader.unsigned()))
        return imports

    @property
    def exports(self) -> list[Export]:
        """The exports, in order."""
        reader = Reader(self.sections[EXPORT])
        return [Export(reader.name(), reader.byte(), reader.unsigned()) for _ in range(reader.unsigned())]

    def set_exports(self, exports: list[Export]) -> None:
        """Replace the exports."""
        self.sections[EXPORT] = vector([export.encode() for export in exports])

    @property
    def global_variables(self) -> list[Global]:
        """The globals, which must have plain integer initialisers."""
        reader = Reader(self.sections[GLOBAL])
        found = []
        for _ in range(reader.unsigned()):
            type_, mutable, start = reader.byte(), bool(reader.byte()), reader.position
            if reader.byte() not in (0x41, 0x42):
                raise WasmFormatError("a global has an initialiser that is not an integer constant")
            reader.skip_leb()
            if reader.take(1) != END:
                raise WasmFormatError("a global has a compound initialiser")
            found.append(Global(type_, mutable, reader.data[start : reader.position]))
        return found

    def set_global_variables(self, globals_: list[Global]) -> None:
        """Replace the globals."""
        self.sections[GLOBAL] = vector([item.encode() for item in globals_])

    def add_function(self, name: str, parameters: bytes, results: bytes, body: bytes) -> None:
        """Add and export a function; ``body`` is its locals and code without the final ``end``."""
        signature = b"\x60" + sized(parameters) + sized(results)
        type_index = self.append(TYPE, signature)
        index = self.append(FUNCTION, unsigned(type_index))
        self.append(CODE, sized(body + END))
        self.set_exports([*self.exports, Export(name, EXPORT_FUNCTION, index)])
