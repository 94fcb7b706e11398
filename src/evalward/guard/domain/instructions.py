"""The instructions that a payload is lowered to: one linear list per function, in order of evaluation.

An instruction is a tuple ``(operation, destination, a, b, c, start, end)``; destinations and operands are indices into
one register file for the whole payload, ``start`` and ``end`` are byte offsets in the wrapped source. The
interpreter ignores control flow: it joins over every order in which instructions may run, so a list needs no jumps.
"""

from __future__ import annotations

from enum import IntEnum, auto
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from evalward.guard.domain.heap import HeapObject, Outcome
    from evalward.guard.domain.scope import Reference
    from evalward.guard.domain.values import Value


class Op(IntEnum):
    """What an instruction does; operands are named in the interpreter's handler of the same name."""

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


RUNS = "compiled.async"  # the path of what a function does that `_asyncToGenerator` made

Instruction: TypeAlias = tuple[Op, int, Any, Any, Any, int, int]


def operands(instruction: Instruction) -> list[int]:
    """Return the registers that an instruction reads, and perhaps some small numbers that are no registers.

    Every number in it counts, wherever it stands and complemented or not (a spread operand), so that no operation has
    to say which of its fields are registers: one too many costs a run, one too few would hide a change.
    """
    found: list[int] = []
    parts: list[Any] = [instruction[2], instruction[3], instruction[4]]
    for part in parts:  # which grows by what is inside
        if type(part) is int:
            found.append(part if part >= 0 else ~part)
        elif type(part) is tuple:
            parts += part
    return found


class Unit:
    """The code of one function, or of the payload's top level.

    ``parameters`` are the registers that arguments arrive in (patterns are taken apart by the unit's own code),
    ``rest`` the register of a rest parameter or -1. ``this``, ``result``, ``sent`` and ``yielded`` are registers that
    joins over all calls flow into and out of.
    """

    __slots__ = (
        "arguments",
        "arrow",
        "asynchronous",
        "called",
        "calls_helper",
        "code",
        "contexts",
        "dirty",
        "executed",
        "function",
        "generator",
        "helper",
        "inlinable",
        "method",
        "name",
        "new_target",
        "outcomes",
        "outer",
        "parameters",
        "queued",
        "ran",
        "receivers",
        "rest",
        "result",
        "runs",
        "sent",
        "start",
        "stores",
        "strict",
        "this",
        "unsettled",
        "users",
        "uses_arguments",
        "uses_this",
        "variables",
        "yielded",
    )

    def __init__(self, name: str, outer: Unit | None, start: int) -> None:
        self.name = name
        self.outer = outer
        self.start = start
        self.code: list[Instruction] = []
        self.parameters: list[int] = []
        self.rest = -1
        self.this = -1
        self.result = -1
        self.sent = -1
        self.yielded = -1
        self.new_target = -1
        self.arrow = False
        self.asynchronous = False
        self.generator = False
        self.strict = False
        self.method = False
        self.helper = ""  # what it does, when it is the helper of a compiler (`lowering.compiled`)
        self.calls_helper = ""  # the name of the one that it calls
        self.called = -1  # and what holds that
        self.arguments: HeapObject | None = None
        self.uses_arguments = False
        self.uses_this = False
        self.receivers: Value = frozenset()  # what it has been called on, if it uses that
        self.inlinable: bool | None = None
        self.variables: frozenset[int] = frozenset()  # that an inlined call has for itself
        self.stores = False
        self.runs = 0  # for one call each
        self.contexts: set[int] = set()
        self.unsettled: set[int] = set()  # the contexts in which it is joined, since it did not settle
        self.outcomes: dict[
            tuple[int, Value, tuple[Value, ...]], Outcome
        ] = {}  # of inlined calls, by what they got
        self.function: HeapObject | None = None
        self.queued = False
        self.ran = False
        self.executed = False  # on its own registers, not only inlined
        self.dirty = bytearray()  # which instructions are to run (again), one byte each
        self.users: dict[int, list[int]] | None = (
            None  # by register, the instructions that have it as an operand
        )

    def __repr__(self) -> str:
        return f"<unit {self.name or 'anonymous'}@{self.start}>"

    def release(self) -> None:
        """Let go of the other units, and of all objects."""
        self.code = []
        self.outer = self.function = self.arguments = None
        for outcome in self.outcomes.values():
            outcome.readers.clear()
        self.outcomes = {}


class Lowered:
    """A lowered payload: its units (the top level first), register count, constants and references to resolve."""

    __slots__ = (
        "classes",
        "closed",
        "constants",
        "counted",
        "counters",
        "global_registers",
        "listed",
        "references",
        "registers",
        "supers",
        "units",
    )

    def __init__(self) -> None:
        self.units: list[Unit] = []
        self.registers = 0
        self.supers: dict[
            int, Unit
        ] = {}  # registers that hold `super`, and the unit whose `this` goes with it
        self.classes = False  # whether the text has a word for classes or prototypes
        self.closed: set[int] = set()  # keys that are written out: nothing can change them
        # Keys that name a property of what is read by them, and what that rests on (`lowering.enumeration`).
        self.listed: dict[int, int] = {}
        self.constants: dict[int, Any] = {}
        self.counted: list[Reference] = []  # the variables that `++` and `--` write
        self.counters: set[int] = set()  # and their registers
        self.references: list[Reference] = []
        self.global_registers: dict[str, int] = {}
