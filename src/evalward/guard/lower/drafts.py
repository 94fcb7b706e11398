"""Code while it is being lowered: the mutable forms of ``Unit`` and ``Lowered``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.instructions import Lowered, Unit

if TYPE_CHECKING:
    from evalward.guard.domain.atoms import Value
    from evalward.guard.domain.instructions import Instruction
    from evalward.guard.domain.scope import Reference, UnitIndex


class UnitDraft:
    """A unit whose code still grows; the fields are those of ``Unit``."""

    __slots__ = (
        "arrow",
        "asynchronous",
        "called",
        "calls_helper",
        "code",
        "end",
        "generator",
        "helper",
        "index",
        "method",
        "name",
        "new_target",
        "only_called",
        "outer",
        "parameters",
        "rest",
        "result",
        "sent",
        "start",
        "strict",
        "this",
        "uses_arguments",
        "uses_this",
        "yielded",
    )

    def __init__(self, index: UnitIndex, name: str, outer: UnitDraft | None, start: int, end: int) -> None:
        self.index = index
        self.name = name
        self.outer = outer
        self.start = start
        self.end = end
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
        self.helper = ""
        self.calls_helper = ""
        self.called = -1
        self.uses_arguments = False
        self.uses_this = False
        self.only_called = False

    def is_within(self, outer: UnitDraft) -> bool:
        """Whether the unit is another one, or is nested in it."""
        unit: UnitDraft | None = self
        while unit is not None and unit is not outer:
            unit = unit.outer
        return unit is not None

    def frozen(self) -> Unit:
        """Return the finished unit."""
        return Unit(
            index=self.index,
            name=self.name,
            outer=None if self.outer is None else self.outer.index,
            start=self.start,
            end=self.end,
            code=tuple(self.code),
            parameters=tuple(self.parameters),
            rest=self.rest,
            this=self.this,
            result=self.result,
            sent=self.sent,
            yielded=self.yielded,
            new_target=self.new_target,
            arrow=self.arrow,
            asynchronous=self.asynchronous,
            generator=self.generator,
            strict=self.strict,
            method=self.method,
            helper=self.helper,
            calls_helper=self.calls_helper,
            called=self.called,
            uses_arguments=self.uses_arguments,
            uses_this=self.uses_this,
            only_called=self.only_called,
        )


class LoweredDraft:
    """A payload that is being lowered; the fields are those of ``Lowered``.

    ``counted`` are the variables that ``++`` and ``--`` write: their registers are known at the end.
    """

    __slots__ = (
        "appended",
        "classes",
        "closed",
        "constants",
        "counted",
        "global_registers",
        "listed",
        "optional",
        "references",
        "registers",
        "source",
        "supers",
        "units",
    )

    def __init__(self, source: bytes, *, classes: bool) -> None:
        self.source = source
        self.units: list[UnitDraft] = []
        self.registers = 0
        self.constants: dict[int, Value] = {}
        self.references: list[Reference] = []
        self.supers: dict[int, UnitIndex] = {}
        self.appended: dict[int, int] = {}
        self.classes = classes
        self.closed: set[int] = set()
        self.listed: dict[int, int] = {}
        self.counted: list[Reference] = []
        self.global_registers: dict[str, int] = {}
        self.optional: set[int] = set()

    def frozen(self) -> Lowered:
        """Return the finished payload."""
        nested: dict[UnitIndex, list[UnitIndex]] = {}
        for unit in self.units:
            if unit.outer is not None:
                nested.setdefault(unit.outer.index, []).append(unit.index)
        referring: dict[UnitIndex, list[Reference]] = {}
        for reference in self.references:
            referring.setdefault(reference.scope.unit, []).append(reference)
        return Lowered(
            source=self.source,
            units=tuple(unit.frozen() for unit in self.units),
            registers=self.registers,
            constants=self.constants,
            references=tuple(self.references),
            nested=nested,
            referring=referring,
            supers=self.supers,
            appended=self.appended,
            classes=self.classes,
            closed=frozenset(self.closed),
            listed=self.listed,
            counters=frozenset(reference.register for reference in self.counted),
            global_registers=self.global_registers,
            optional=frozenset(self.optional),
        )
