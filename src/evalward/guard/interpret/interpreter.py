"""The interpreter: runs units until nothing changes, then judges what was reached (guard.md §2).

What made the difference, on 10 KB of the benchmark's loaded code: 6,700 instructions ran for 1,131 that there are, and
2,300 do now. A function runs where it is first called (5,600), a call's own copy runs once when it reads only what it
wrote before (4,900), what grows by numbers alone soon is any number (4,000), a counter is that from its first value
on (3,800), what runs again are the instructions that read what changed (2,770), not the functions that they are in,
in a call's own copy too (2,400), and what calls itself gets no copy. Running inner functions or the latest first gave
nothing, nor did handlers that avoid a call, nor members of enumerations by names of their own. What is left are calls
that differ. An instruction costs 4 µs, half of it in reads of properties and in calls of built-in functions; a tenth
of all was the collector's, until an analysis was taken apart at its end.

What an instruction reads is noted where it is read (``readers``), and every operation that looks at an object notes
it, whatever it looks for: an instruction that should run again and does not would hide what it does. An outcome that
is reused stands for its call in that. So running everything once more, outcomes forgotten, must find nothing new;
``tests/guard/test_fixpoint.py`` does that to the corpus.
"""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING

from evalward.guard.domain.heap import Activation, HeapObject
from evalward.guard.domain.instructions import Op
from evalward.guard.domain.values import (
    BOTTOM,
    V_GLOBAL,
    V_U1,
    V_UNDEFINED,
    Known,
    Value,
    join,
    known,
    of,
)
from evalward.guard.interpret.calls.calls import objects_of
from evalward.guard.interpret.handlers.flow import FlowOperations
from evalward.guard.interpret.implicit_calls import call_implicitly
from evalward.guard.interpret.judgement import Flow
from evalward.guard.interpret.key_checks import KeyChecks
from evalward.guard.interpret.state import AnalysisLimitError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evalward.guard.catalogue import Catalogue
    from evalward.guard.domain.instructions import Instruction, Lowered

_REVIVED = frozenset(
    {
        Op.GET,
        Op.CALL,
        Op.CALL_METHOD,
        Op.NEW,
        Op.ITERATE,
        Op.AWAIT,
        Op.SUPER,
        Op.SUPER_CALL,
        Op.TAGGED,
        Op.REST,
    }
)
_CALLEE = frozenset({"callee"})
_EVENT = known("Event.prototype")
_TARGETS = frozenset({"currentTarget", "target"})
_DOUBTS = frozenset({"@@constructors", "@@receivers"})  # what a method is called on is anything
_HANDLERS = tuple(f"op_{op.name.lower()}" for op in Op)
_MAX_REVIVALS = 3
_MAX_NESTED = 12  # calls that run within one another; further ones wait in the queue


class Interpreter(FlowOperations):
    """Joins over every order in which a payload's instructions may run, to a fixpoint.

    A function runs where it is first called, and its caller goes on with the result: when it waited in the queue, each
    caller would run twice, once on nothing.
    """

    _nested = 0
    _called_at = (-1, 0)  # the state in which implicit calls changed nothing, or in which they are being made

    def __init__(
        self,
        lowered: Lowered,
        catalogue: Catalogue,
        *,
        steps: int,
        strict: bool,
        bindings: Mapping[str, Value],
        parameters: tuple[Value, ...] | None,
        module: bool,
    ) -> None:
        super().__init__(lowered, catalogue, steps=steps, strict=strict)
        self.bindings = bindings
        self.parameters = parameters
        top = lowered.units[0]
        self.values[top.this] = V_UNDEFINED if module else V_GLOBAL
        self.operations: list[Callable[[Instruction], Value]] = [getattr(self, name) for name in _HANDLERS]

    def run(self) -> None:
        """Run to the fixpoint; functions that nothing calls are run last, as if the host called them."""
        top = self.units[0]
        top.ran = True
        self.enqueue(top)
        self.drain()
        self._call_implicitly()
        waiting = self.units
        while waiting:
            # The last one first: it calls those before it, which then are called by nobody else.
            functions = [unit.function for unit in waiting if not unit.ran and unit.function is not None]
            if not functions:
                break
            self._expect_call(functions[-1])
            self.drain()
            waiting = [unit for unit in waiting if not unit.ran and unit.function is not functions[-1]]
        self._call_implicitly()
        self._revive()
        self._call_implicitly()
        if self.clicked and self._says("quit"):
            for start, end in self.clicked:
                self.report("electron-lifecycle", 0, start, end, None, "a menu item may have the role `quit`")
        if self.polluted and self.key_checks and not self.cleared:
            self.checked = KeyChecks(self).cleared()
        if self.polluted and not self.checked:
            for start, end in self.polluted:
                note = "written through what a key from outside selects"
                self.report("prototype-tampering", 0, start, end, None, note)

    def _call_implicitly(self) -> None:
        while self._called_at != (self.version, len(self.objects)):
            self._called_at = self.version, len(self.objects)
            if not call_implicitly(self):
                return
            self.drain()

    def _says(self, word: str) -> bool:
        """Whether any text or pattern of the payload holds a word, in whatever case."""
        patterns = [
            part
            for unit in self.units
            for instruction in unit.code
            if instruction[0] is Op.REGEXP
            for part in instruction[2:5]
            if type(part) is str
        ]
        texts = [atom for value in self.values for atom in value if type(atom) is str]
        return any(word in text.lower() for text in (*patterns, *texts))

    def _expect_call(self, function: HeapObject) -> None:
        """Let the host call what nothing is seen to call, a method on what has it."""
        followed = self.lowered.classes and not self.strict
        prototypes = [o for o in self.objects.values() if self._has(o, function)] if followed else []
        for prototype in prototypes:
            self.escape_method(function, prototype)
        if not prototypes:
            self.escape_object(function)

    def _has(self, target: HeapObject, function: HeapObject) -> bool:
        """Whether an object is a prototype that has a function as a method."""
        return bool(target.owners) and any(
            function in value for name, value in target.properties.items() if name != "constructor"
        )

    def _revive(self) -> None:
        """Give what came to nothing an unknown value and run on (the havoc rule).

        An instruction without a result is code that always throws, or something that is not modelled; only the
        latter must not silence what comes after it.
        """
        for _ in range(_MAX_REVIVALS):
            silent = False
            for unit in self.units:
                for instruction in unit.code if unit.executed else ():
                    if instruction[0] not in _REVIVED or self.values[instruction[1]]:
                        continue
                    if not str(instruction[3]).startswith("@@#"):  # a private name is the payload's own
                        self.revived.add(instruction[1])
                        self.unit, self.reader = unit, instruction[1]
                        self.values[instruction[1]] = self._unknown_result(instruction)
                        self.feed(unit, instruction[1])
                        silent = True
            if not silent:
                return
            self.drain()

    def _unknown_result(self, instruction: Instruction) -> Value:
        """Return what an instruction gives that came to nothing: a read what it reads of anything."""
        if instruction[0] is not Op.GET:
            self._hand_over(instruction)
            return V_U1
        _, _, _, key, _, start, end = instruction
        made = self.get(V_U1, key, start, end) if type(key) is str else self.get_by(V_U1, key, start, end)
        return made or V_U1

    def _hand_over(self, instruction: Instruction) -> None:
        """Let a call of what no list names, and newer engines may have, do what it may with all that it is given."""
        match instruction[0]:
            case Op.CALL_METHOD:
                registers: tuple[int, ...] = instruction[4]
                owner = objects_of(self.values[instruction[2]])
                self.leak(owner, Flow.ARGUMENT, instruction[5], instruction[6])
                self.judge_receiver(self.values[instruction[2]])
            case Op.CALL | Op.NEW:
                registers = instruction[3]
            case _:
                return
        for register in registers:
            value = self.values[register if register >= 0 else ~register]
            self.call(objects_of(value), V_UNDEFINED, (V_U1,), instruction[5], instruction[6], V_U1)
            self.leak(value, Flow.ARGUMENT, instruction[5], instruction[6])

    def drain(self) -> None:
        """Run what waits to be run, until nothing does."""
        while self.queue or self.pending_escapes:
            while self.pending_escapes:
                self._escape(self.pending_escapes.pop())
            if self.queue:
                unit = self.queue.popleft()
                if unit.queued:
                    self._execute(unit)

    def execute_now(self, unit: Activation) -> None:
        """Run a unit that has just been called, so that its caller goes on with what it gives."""
        if self.active or self._nested >= _MAX_NESTED:
            return
        current, reader, rerunning = self.unit, self.reader, self.rerunning
        self._nested += 1
        try:
            self._execute(unit)
        finally:
            self._nested -= 1
            self.unit, self.reader, self.rerunning = current, reader, rerunning

    def _execute(self, unit: Activation) -> None:
        """Run what is to run of a unit, and what has the result of that as an operand."""
        self.unit = unit
        unit.queued = False
        operations, values, code, dirty = self.operations, self.values, unit.code, unit.dirty
        self.rerunning = again = unit.executed
        if not again:
            unit.executed = True
            self.places.update(
                zip([each[1] for each in code], zip(repeat(unit), range(len(code))), strict=False)
            )
        index = dirty.find(1)
        while index >= 0:
            dirty[index] = 0
            instruction = code[index]
            self.reader = register = instruction[1]
            self.steps += 1
            if self.steps > self.budget:
                raise AnalysisLimitError(self.budget)
            made = operations[instruction[0]](instruction)
            if not made and register in self.revived:
                made = self._unknown_result(instruction)
            if not again:
                values[register] = made
            elif made != values[register]:
                values[register] = made
                for user in self.users_in(unit).get(register, ()):
                    dirty[user] = 1
            index = dirty.find(1, index + 1)

    def _escape(self, target: HeapObject) -> None:
        """Let the host do what it may with an object: read and replace its properties, call it with anything."""
        self.reader = target
        self.spend(1 + (len(target.properties) + len(target.items) >> 2))
        hidden = (
            _CALLEE if target.kind == "arguments" else frozenset[str]()
        )  # it is the payload's own function
        if _EVENT in target.prototype:
            hidden = _TARGETS  # the host itself put them there, the window among them
        visible = [
            value
            for name, value in target.properties.items()
            if not name.startswith("@@#") and name not in hidden
        ]
        self._bind(target, visible)
        self.judge_constructor(target.properties.get("constructor", BOTTOM))
        if target.kind == "object" and ("prototype" in target.properties or target.extensible):
            self.judge_constructor(target.elements)
            if "prototype" in target.properties or any(
                a.callable if isinstance(a, HeapObject) else type(a) is Known for a in target.elements
            ):
                self.expect_constructors()
        direct = not target.owners or target.handed or self.strict or not self.lowered.classes
        methods = frozenset[HeapObject]() if direct else self._methods_of(target)
        for method in sorted(methods, key=lambda function: function.serial):
            self.escape_method(method, target)
        for value in [*visible, target.elements, *target.items]:
            self.leak(value - methods, Flow.RETURN, target.start, target.start)
        for accessor in (*target.getters.values(), *target.setters.values()):
            self.leak(accessor, Flow.CALLBACK, target.start, target.start)
        if target.bound is not None:
            self.leak(target.bound[0], Flow.CALLBACK, target.start, target.start)
        unit = target.unit
        if target.kind == "class":
            self.leak(
                self.construct(of(target), (), target.start, target.start, V_U1),
                Flow.RETURN,
                target.start,
                target.start,
            )
        elif target.kind == "arguments":
            self.put_element(target, join(target.contents(), V_U1))
        elif unit is not None and target.kind == "generator":
            self.resume(target, V_U1)
        elif unit is not None and target.kind == "function":
            previous, self.unit = self.unit, unit
            self.patches.readers[target] = None
            doubtful = not _DOUBTS.isdisjoint(self.patches.properties)
            self.enter(
                target, (BOTTOM if doubtful else target.holders) or V_U1, [V_U1] * len(unit.parameters), V_U1
            )
            self.unit = previous
            self.leak(self.values[unit.result], Flow.RETURN, target.start, target.start)

    def _bind(self, owner: HeapObject, methods: list[Value]) -> None:
        """Let the host call an object's own methods on the object."""
        for value in methods:
            for atom in value:
                if isinstance(atom, HeapObject) and atom.unit is not None and not atom.unit.arrow:
                    self.write(atom.unit.this, of(owner))

    @staticmethod
    def _methods_of(prototype: HeapObject) -> frozenset[HeapObject]:
        """Return the functions that are found on a prototype, its ``constructor`` aside."""
        return frozenset(
            atom
            for name, value in prototype.properties.items()
            if name != "constructor"
            for atom in value
            if isinstance(atom, HeapObject) and atom.kind == "function" and atom.bound is None
        )
