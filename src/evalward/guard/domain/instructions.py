"""The code of a lowered payload: units of instructions, one unit per function, in order of evaluation.

An instruction is a tuple ``(operation, destination, a, b, c, span)``. Destinations and operands are indices into
one register file for the whole payload, ``span`` is its place in the wrapped source. The interpreter
ignores control flow: it joins over every order in which instructions may run, so a unit needs no jumps. Code is
immutable; the state of a run is in ``domain.heap.Activation``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence  # noqa: TC003 - a compiled class reads its annotations
from dataclasses import dataclass
from enum import IntEnum, auto
from typing import Any, Final, TypeAlias

from evalward.guard.domain.atoms import Value  # noqa: TC001 - the same
from evalward.guard.domain.scope import Reference, UnitIndex
from evalward.guard.domain.span import Span


class Op(IntEnum):
    """The operation of an instruction; the interpreter's handler of the same name names its operands."""

    LOAD = 0
    STORE = auto()
    THIS = auto()
    SUPER = auto()
    NEW_TARGET = auto()
    GET = auto()
    SET = auto()
    DELETE = auto()
    CALL = auto()
    CALL_METHOD = auto()
    SUPER_CALL = auto()
    NEW = auto()
    TAGGED = auto()
    IMPORT = auto()
    IMPORT_META = auto()
    STATIC_IMPORT = auto()
    BINARY = auto()
    UNARY = auto()
    UPDATE = auto()
    JOIN = auto()
    TEMPLATE = auto()
    ARRAY = auto()
    OBJECT = auto()
    REGEXP = auto()
    FUNCTION = auto()
    CLASS = auto()
    ITERATE = auto()
    KEYS = auto()
    REST = auto()
    OMIT = auto()
    AWAIT = auto()
    YIELD = auto()
    RETURN = auto()
    THROW = auto()
    CAUGHT = auto()
    COMPLETE = auto()
    WITH = auto()
    HAVOC = auto()
    NARROW = auto()


RUNS = "compiled.async"  # the path of the function that `_asyncToGenerator` returns

NO_UNIT: Final = UnitIndex(-1)  # of a unit that is not in the payload's text

Instruction: TypeAlias = tuple[Op, int, Any, Any, Any, Span]


def operands(instruction: Instruction) -> list[int]:
    """Return the registers that an instruction reads, and possibly small numbers that are not registers.

    Every plain int in it counts, in every field, also complemented (a spread operand), so that no operation has to
    declare which of its fields are registers. One too many costs a run; one too few would hide a change.
    """
    found: list[int] = []
    parts: list[Any] = [instruction[2], instruction[3], instruction[4]]
    for part in parts:  # which grows by what is inside
        if type(part) is int:
            found.append(part if part >= 0 else ~part)
        elif type(part) is tuple:
            parts += part
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """The code of one function, or of the payload's top level.

    ``index`` is its place among the units of the payload, ``outer`` the place of the unit around it; ``start`` and
    ``end`` are byte offsets of its node. ``parameters``
    are the registers that arguments arrive in (the unit's own code destructures patterns), ``rest`` the register of a
    rest parameter or -1. ``this``, ``result``, ``sent`` and ``yielded`` are registers that joins over all calls flow
    into and out of. ``helper`` says what the unit does when it is the helper of a compiler
    (``lower.compiled_helpers``), ``calls_helper`` and ``called`` are the name and the register of the helper that it
    calls. ``only_called`` units are not run as if the host called them.
    """

    index: UnitIndex
    name: str
    outer: UnitIndex | None
    start: int
    end: int
    code: tuple[Instruction, ...] = ()
    parameters: tuple[int, ...] = ()
    rest: int = -1
    this: int = -1
    result: int = -1
    sent: int = -1
    yielded: int = -1
    new_target: int = -1
    arrow: bool = False
    asynchronous: bool = False
    generator: bool = False
    strict: bool = False
    method: bool = False
    helper: str = ""
    calls_helper: str = ""
    called: int = -1
    uses_arguments: bool = False
    uses_this: bool = False
    only_called: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Lowered:
    """A lowered payload. Nothing writes it: several runs may share it.

    ``source`` is the text that was lowered, ``units`` are its functions, the top level first. ``constants`` are the
    registers that hold a value from the start. ``nested`` are the units right within a unit,
    ``referring`` the references in its scopes.
    ``appended`` are the registers of sums that `x.innerHTML += 'constant'` writes, with the constant's.
    ``supers`` are the registers that hold ``super``, with the unit whose ``this`` goes with each. ``classes`` says
    whether the text has a word for classes or prototypes. ``closed`` are keys that are written out, so that nothing
    changes them; ``listed`` are keys that name a property of what is read by them, with what that rests on
    (``lower.enumeration``). ``counters`` are the registers of the variables that ``++`` and ``--`` write. ``optional``
    are the registers of the links of a chain that ``?.`` may end (ECMA-262 §13.3.9).
    """

    source: bytes
    units: tuple[Unit, ...]
    registers: int
    constants: Mapping[int, Value]
    references: tuple[Reference, ...]
    nested: Mapping[UnitIndex, Sequence[UnitIndex]]
    referring: Mapping[UnitIndex, Sequence[Reference]]
    supers: Mapping[int, UnitIndex]
    appended: Mapping[int, int]
    classes: bool
    closed: frozenset[int]
    listed: Mapping[int, int]
    counters: frozenset[int]
    global_registers: Mapping[str, int]
    optional: frozenset[int]

    def units_within(self, outer: UnitIndex) -> Sequence[UnitIndex]:
        """Return a unit with all that are nested in it."""
        found = [outer]
        for unit in found:
            found += self.nested.get(unit, ())
        return found

    def is_within(self, inner: UnitIndex | None, outer: UnitIndex) -> bool:
        """Whether a unit is another one, or is nested in it."""
        while inner is not None and inner != outer:
            inner = self.units[inner].outer
        return inner is not None
