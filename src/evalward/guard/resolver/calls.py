"""Calls: payload functions, built-in ones, the host's, and what may be a function constructor (guard.md §2, use)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evalward.guard.resolver import natives
from evalward.guard.resolver.entering import MAX_DEPTH, Entering
from evalward.guard.resolver.heap import HeapObject
from evalward.guard.resolver.judgement import Flow
from evalward.guard.resolver.values import (
    ANY_NUMBER,
    BOTTOM,
    BUILT,
    CONSTRUCTOR1,
    DATA,
    HELD,
    HIDDEN,
    NEVER_CALLED,
    U1,
    U2,
    V_U1,
    V_UNDEFINED,
    Host,
    Known,
    Primitive,
    Value,
    join,
    of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from evalward.guard.resolver.values import Atom

_WRAPPERS = frozenset({"String", "Number", "Boolean"})  # `new Number(1)` is an object
_SPECIES = frozenset(
    f"{path}.prototype.{name}"
    for path, names in {
        "Array": "map filter slice splice concat flat flatMap",
        "Promise": "then catch finally",
    }.items()
    for name in names.split()
)
_DRIVERS = ("playwright.", "electron.", "console.")
_KEY_CHECKS = frozenset({"Object.hasOwn", "Object.prototype.hasOwnProperty", "Reflect.ownKeys"})


def in_order(value: Value) -> Iterable[Atom]:
    """Return the atoms in an order that is the same in every run: what calls change depends on it."""
    return value if len(value) == 1 else sorted(value, key=_rank)


def _rank(atom: Atom) -> tuple[int, int, str]:
    if isinstance(atom, HeapObject):
        return 0, atom.serial, ""
    return 1, 0, atom if type(atom) is str else repr(atom)


def objects_of(value: Value) -> frozenset[HeapObject]:
    """Return the payload's own objects among the atoms."""
    return frozenset(atom for atom in value if isinstance(atom, HeapObject))


@dataclass(slots=True)
class Call:
    """One call of a built-in function: ``rest`` joins what may follow ``args``, at positions that are not known."""

    path: str
    this: Value
    args: Sequence[Value]
    rest: Value
    start: int
    end: int
    constructing: bool = False

    def arg(self, index: int) -> Value:
        """Return an argument, undefined when it is absent."""
        return self.args[index] if index < len(self.args) else self.rest or V_UNDEFINED

    def all(self, first: int = 0) -> Value:
        """Return the join of the arguments from one on."""
        result = self.rest
        for value in self.args[first:]:
            result = join(result, value)
        return result


class Calls(Entering):
    """Calls and constructions."""

    _depth = 0

    def call(
        self, callee: Value, this: Value, args: Sequence[Value], start: int, end: int, rest: Value = BOTTOM
    ) -> Value:
        """Return the result of a call."""
        self.steps += 1 + len(callee) + len(args)
        if self.steps > self.budget:
            self.spend(0)
        if self._depth > MAX_DEPTH:
            for value in (callee, *args, rest):
                self.leak(value, Flow.ARGUMENT, start, end)
            return V_U1
        self._depth += 1
        result: Value = BOTTOM
        try:
            for atom in callee if len(callee) == 1 else in_order(callee):
                if type(atom) is HeapObject:
                    plain = atom.kind == "function" and atom.bound is None
                    made = (
                        self.enter(atom, this, args, rest)
                        if plain
                        else self._call_object(atom, this, args, rest, start, end)
                    )
                elif type(atom) is Known:
                    made = self.call_known(atom, Call(atom.path, this, args, rest, start, end))
                else:
                    made = self._call_other(atom, this, args, rest, start, end)
                result = join(result, made)
        finally:
            self._depth -= 1
        return result

    def _call_other(
        self, atom: Atom, this: Value, args: Sequence[Value], rest: Value, start: int, end: int
    ) -> Value:
        """Call what is neither the payload's own function nor one that the catalogue names."""
        if atom is HIDDEN:
            self.call_hidden((*args, rest), start, end)
        elif atom is HELD:
            self.hold((*args, rest))
            self._tell(args, start, end)
            return self.given_back()
        elif not (type(atom) is str or type(atom) is Primitive or atom in NEVER_CALLED):
            self.leak(objects_of(this), Flow.ARGUMENT, start, end)
            return self._call_unknown(atom, args, rest, start, end)
        return BOTTOM

    def call_hidden(self, given: Sequence[Value], start: int, end: int) -> None:
        """Report a call of what a decoded name selects from the host: given anything, it may be what runs text."""
        if any(given):
            note = "what is called is selected by a name that the payload decodes itself"
            self.report("dynamic-key", 1, start, end, HIDDEN, note)

    def _call_unknown(
        self,
        atom: Atom,
        args: Sequence[Value],
        rest: Value,
        start: int,
        end: int,
        *,
        constructing: bool = False,
    ) -> Value:
        """Call what is not known: the arguments are handed over; a d of 0 builds a function."""
        flow = Flow.CALL
        self.use(of(atom), flow, start, end)
        for value in (*args, rest):
            self.leak(value, Flow.ARGUMENT, start, end)
        texts: Value = BOTTOM
        if not isinstance(atom, Host):
            texts = self.hold((*args, rest), 0)
        elif not self.asked(atom.path):
            texts = self.hold((*args, rest))
        if texts:
            self._tell(args, start, end)
            texts |= of(HELD)
        if atom is DATA:
            return texts | of(DATA, U1)
        # `.constructor` of the page's data is Function when that is a function. `new x.constructor(x.size)` copies.
        copied = atom is CONSTRUCTOR1 and not (texts if constructing else any(args) or rest)
        if isinstance(atom, Host) or atom in {U1, U2} or copied:
            return texts | V_U1
        self.origin(BUILT, atom, "a call that may build a function from text", start, end)
        return texts | of(BUILT, U1)

    def _tell(self, args: Sequence[Value], start: int, end: int) -> None:
        """Let callbacks of the payload be given what holds the texts that stand beside them."""
        for value in args:
            functions = frozenset(a for a in objects_of(value) if a.kind == "function")
            if functions:
                held = of(HELD, U1)
                self.call(functions, V_U1, (held, held), start, end)

    def _call_object(
        self, target: HeapObject, this: Value, args: Sequence[Value], rest: Value, start: int, end: int
    ) -> Value:
        if target.bound is not None:
            function, bound = target.bound
            target.readers[self.reader] = None
            return self.call(function, bound[0] or this, (*bound[1:], *args), start, end, rest)
        if target.kind in {"resolver", "rejecter"}:
            for value in (*args[:1], rest):
                self.settle(target, value, start, end)
                if target.kind == "rejecter":
                    self.write(self.thrown, value)
            return V_UNDEFINED
        if target.kind == "proxy":
            return self.call_proxy(target, this, args, rest, start, end)
        if target.kind == "native":
            target.readers[self.reader] = None
            return target.elements
        if target.unit is None or target.kind == "class":
            return BOTTOM
        return self.enter(target, this, args, rest)

    def call_proxy(
        self,
        target: HeapObject,
        this: Value,
        args: Sequence[Value],
        rest: Value,
        start: int,
        end: int,
        trap: str = "apply",
    ) -> Value:
        """Call or construct a proxy: its trap gets the receiver and the arguments, else its target does."""
        target.readers[self.reader] = None
        everything = join(rest, BOTTOM)
        for value in args:
            everything = join(everything, value)
        self.leak(everything, Flow.ARGUMENT, start, end)
        given = self.allocate("array", start, "trapped")
        self.inexact(given)
        self.put_element(given, join(everything, V_UNDEFINED))
        trapped_args = (this, of(given)) if trap == "apply" else (of(given), of(target))
        made = join(self.trapped(target, trap, trapped_args, start, end), V_U1)
        made = join(made, self.call(target.elements, this, args, start, end, rest))
        return join(made, target.elements)  # a trap's result is among the elements

    @staticmethod
    def _checks_a_key(call: Call) -> bool:
        """Whether a check is of a key from elsewhere: one of a written name or of a number says nothing."""
        if call.path == "Reflect.ownKeys" or call.rest:
            return True
        asked = call.args[1 if call.path == "Object.hasOwn" else 0 :][:1]
        return any(
            not (type(atom) in {str, Primitive} or atom is ANY_NUMBER) for key in asked for atom in key
        )

    def call_known(self, atom: Known, call: Call) -> Value:
        """Call a catalogued function."""
        path = atom.path
        if atom.label is not None:
            self.use(of(atom), Flow.CONSTRUCT if call.constructing else Flow.CALL, call.start, call.end)
        if path in _KEY_CHECKS:
            self.guarded = self.guarded or self._checks_a_key(call)
        elif path == "Reflect.deleteProperty":
            self.expect_deletions()
        native = natives.TRANSFER.get(path)
        wraps = call.constructing and path in _WRAPPERS
        if native is not None and not wraps:
            reader = self.reader
            for value in (call.this, *call.args, call.rest):
                for given in value:
                    if type(given) is HeapObject:
                        given.readers[reader] = None
            made = native(self, call)
            if call.constructing or path == "Error":
                self.keep_in(made, (*call.args, call.rest))
            if path not in _SPECIES:
                return made
            # An instance of a payload's subclass: the method makes another one of it.
            return join(made, frozenset(a for a in objects_of(call.this) if a.kind == "object"))
        entry = self.catalogue.get(path)
        if not entry.inert:
            for value in (*call.args, call.rest):
                self.leak(value, Flow.ARGUMENT, call.start, call.end)
            self.leak(objects_of(call.this), Flow.ARGUMENT, call.start, call.end)
        if call.constructing:
            made = self.instance_of(entry.instance, call.start) if entry.instance else V_U1
            self.keep_in(made, (*call.args, call.rest))
            if wraps:
                for instance in made:
                    if isinstance(instance, HeapObject) and native is not None:
                        natives.objects.wrap(self, instance, native(self, call))
            return made
        made = self.materialize(entry.result, call.start)
        if entry.inert or atom.path.startswith(_DRIVERS):
            return made
        made = self.answered(atom.path, made, (*(objects_of(call.this),), *call.args, call.rest))
        return made | self.read(self.given) if entry.result == "text" else made
