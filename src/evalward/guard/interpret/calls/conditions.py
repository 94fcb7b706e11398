"""The conditions under which the model of a built-in function is true; outside them it is havoc (guard.md §2).

ECMA-262's algorithms read members of their receiver and arguments that a payload may override: species, iterators,
``join``, ``next``, index accessors, traps. A transfer function describes the algorithm where none is overridden.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from evalward.guard.domain.atoms import BOTTOM, UNDEFINED, V_UNKNOWN, Known, Value, of
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.instructions import Op
from evalward.guard.domain.slots import ANY_INDEX, MAY_HAND_ON_RESULTS, SYMBOL_PREFIX
from evalward.guard.domain.values import join
from evalward.guard.interpret.atom_order import objects_of
from evalward.guard.syntax.literals import is_index

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from evalward.guard.domain.call import Call
    from evalward.guard.domain.heap import HeapObject
    from evalward.guard.domain.span import Span
    from evalward.guard.interpret.judgement import Judgement
    from evalward.guard.interpret.method_lookup import MethodLookup
    from evalward.guard.interpret.recursion import Recursion
    from evalward.guard.interpret.run_state import RunState

_MAX_CHAIN = 24
_ROOT = "Object.prototype"
# The kinds of object that the methods of a prototype are modelled for.
_KINDS: Mapping[str, frozenset[str]] = {
    "Array": frozenset({"array", "arguments"}),
    "Iterator": frozenset({"iterator", "generator"}),
    "Promise": frozenset({"promise"}),
    "RegExp": frozenset({"regexp"}),
    "Uint8Array": frozenset({"object"}),
    "ArrayBuffer": frozenset({"object"}),
}
# What their algorithms read from the receiver, and the payload may override.
_CONSULTED: Mapping[str, frozenset[str]] = {
    "Array": frozenset({"constructor", "@@isConcatSpreadable"}),
    "Iterator": frozenset({"next", "return"}),
    "Promise": frozenset({"constructor", "then"}),
    "RegExp": frozenset({"constructor", "exec", "flags", "lastIndex"}),
}
_JOINING = "Array.prototype.toString"
_DELEGATES = {_JOINING: "join"}
# They are modelled as writes through a proxy.
_WRITE_THROUGH = frozenset({"Array.prototype.push", "Array.prototype.unshift"})
# They run a regular expression of the payload.
_MATCHING = frozenset(
    f"String.prototype.{name}" for name in ("match", "matchAll", "replace", "replaceAll", "search", "split")
)
# They throw on a receiver of another kind, for it lacks the internal slot, or give the receiver.
_BRANDED = frozenset({f"Iterator.prototype.{name}" for name in ("next", "return", "throw", "@@iterator")})
# They give what a method of their receiver gives.
_INVOKES = {
    "Object.prototype.toLocaleString": frozenset({"toString"}),
    "Date.prototype.toJSON": frozenset({"toISOString"}),
}
# Their results, as a subclass or the object itself, have what the payload put on the receiver.
_GIVE_THEIR_RECEIVER = frozenset({"Uint8Array", "ArrayBuffer"})
# Static methods that construct their receiver.
_MAKERS = frozenset(
    f"{owner}.{name}"
    for owner, names in {
        "Array": "from of fromAsync",
        "Uint8Array": "from of",
        "Promise": "resolve reject all allSettled any race try withResolvers",
    }.items()
    for name in names.split()
)
# Functions that read the elements of an argument without its iterator.
_READ_ELEMENTS = frozenset(
    {"Array.from", "Array.fromAsync", "Array.prototype.concat", "Function.prototype.apply"}
    | {"Reflect.apply", "Reflect.construct"}
)
# Methods that algorithms call on what they get.
_PROTOCOLS = (
    *(
        "@@iterator",
        "@@asyncIterator",
        "@@species",
        "@@match",
        "@@matchAll",
        "@@replace",
        "@@search",
        "@@split",
    ),
    *("next", "return", "then", "has", "keys", "get", "exec", "join", "toString", "valueOf", "toJSON"),
)
# Built-in classes that the catalogue does not list, for their methods are not modelled.
UNMODELLED_CLASSES = frozenset({"SuppressedError", "DisposableStack", "AsyncDisposableStack"})
# Functions newer than the models.
_UNMODELLED = frozenset(
    f"{owner}.{name}"
    for owner, names in {
        "Iterator": "concat zip zipKeyed range",
        "Iterator.prototype": "chunks windows join",
        "Map.prototype": "getOrInsert getOrInsertComputed",
        "WeakMap.prototype": "getOrInsert getOrInsertComputed",
        "Promise": "allKeyed allSettledKeyed",
    }.items()
    for name in names.split()
)
# Functions that are modelled for a proxy: they call its traps.
_THROUGH_TRAPS = frozenset(
    f"{owner}.{name}"
    for owner, names in {
        "Object": "assign keys values entries getPrototypeOf getOwnPropertyDescriptor getOwnPropertyDescriptors "
        "getOwnPropertyNames getOwnPropertySymbols isExtensible preventExtensions freeze seal is isFrozen isSealed "
        "prototype.hasOwnProperty hasOwn",
        "Reflect": "get set has ownKeys apply construct getPrototypeOf getOwnPropertyDescriptor deleteProperty "
        "isExtensible preventExtensions defineProperty",
        "Function.prototype": "call apply bind",
    }.items()
    for name in names.split()
)
_COUNTED = "lastIndex"
# `[Symbol.iterator]` of the collections is modelled as that of arrays.
_LISTING = "Array.prototype.values"
_LISTED = frozenset({"map", "set", "iterator", "generator"})
_NEW_TARGET = 2  # the argument of `Reflect.construct`
_SLOTS = frozenset({"source", "flags"})  # of a regular expression that nothing changed


class Conditions:
    """Whether a call lies within the model of its function, and what a call outside of it does."""

    def __init__(
        self, state: RunState, judgement: Judgement, method_lookup: MethodLookup, machine: Recursion
    ) -> None:
        self._dataflow = state.dataflow
        self._store = state.store
        self._patches = state.store.patches
        self._findings = state.findings
        self._judgement = judgement
        self._method_lookup = method_lookup
        self._machine = machine

    def hold(self, call: Call) -> bool:
        """Whether no member that the algorithm reads is the payload's own, and every object is of the exact kind."""
        return all(condition(self, call) for condition in self._conditions_of(call.path))

    @staticmethod
    @cache
    def _conditions_of(path: str) -> tuple[Callable[[Conditions, Call], bool], ...]:
        """Return the conditions of a function's model; most have none."""
        owner, dot, _ = path.rpartition(".prototype.")
        applying = (
            (path in _UNMODELLED, Conditions._is_modelled),
            (path == "Reflect.construct", Conditions._makes_what_it_is_given),
            (path in _MAKERS, Conditions._is_on_a_standard_class),
            (dot and owner in _KINDS, Conditions._is_on_ordinary_objects),
            (path in _INVOKES, Conditions._is_on_plain_objects),
            (path == "Object.assign", Conditions._goes_into_no_proxy),
            (path in _MATCHING, Conditions._has_a_standard_pattern),
            (path in _READ_ELEMENTS, Conditions._has_plain_elements),
        )
        return tuple(condition for applies, condition in applying if applies)

    def _is_modelled(self, call: Call) -> bool:
        return call.path not in _UNMODELLED

    def _makes_what_it_is_given(self, call: Call) -> bool:
        return len(call.args) <= _NEW_TARGET and not call.rest

    def _is_on_a_standard_class(self, call: Call) -> bool:
        return all(type(atom) is Known or atom is UNDEFINED for atom in call.this)

    def _is_on_ordinary_objects(self, call: Call) -> bool:
        owner, _, _ = call.path.rpartition(".prototype.")
        return all(self._is_ordinary(target, owner, call.path) for target in objects_of(call.this))

    def _is_on_plain_objects(self, call: Call) -> bool:
        return not any(self._overrides(target, _INVOKES[call.path]) for target in objects_of(call.this))

    def _goes_into_no_proxy(self, call: Call) -> bool:
        return all(target.kind != "proxy" for target in objects_of(call.arg(0)))

    def _has_a_standard_pattern(self, call: Call) -> bool:
        return not any(map(self._is_own_pattern, objects_of(call.arg(0))))

    def _has_plain_elements(self, call: Call) -> bool:
        return not any(
            self._has_accessors(target) for value in (*call.args, call.rest) for target in objects_of(value)
        )

    @staticmethod
    def may_trap(path: str) -> bool:
        """Whether a function is modelled for proxies among its receiver and arguments."""
        return path in _THROUGH_TRAPS or path in _WRITE_THROUGH

    def outside(self, call: Call) -> Value:
        """Hand over all that the call got, after the members that it reads; it may give back any of what it reaches."""
        self._findings.outside = True
        receiver = frozenset(atom for atom in call.this if type(atom) is not Known or atom.label is not None)
        owner, _, _ = call.path.rpartition(".prototype.")
        for target in sorted(objects_of(receiver), key=lambda each: each.serial):
            for name in sorted(_INVOKES.get(call.path, _CONSULTED.get(owner, frozenset()))):
                method = self._method_lookup.get_method(target, name)
                given = self._machine.call(method, of(target), (V_UNKNOWN,), call.span, V_UNKNOWN)
                self._judgement.leak(given, Flow.RETURN, call.span)
        for value in (receiver, *call.args, call.rest):
            self._judgement.leak(value, Flow.ARGUMENT, call.span)
        reached = self._reached((receiver, *call.args, call.rest), call.span)
        if call.path in _MAKERS:
            reached = join(reached, self._machine.construct(objects_of(receiver), (V_UNKNOWN,), call.span))
        for atom in reached:  # what a constructor or a species of the payload's gives gets elements
            if type(atom) is Known:
                self._patches.put(f"{atom.path}.{ANY_INDEX}", reached)
        if not reached or call.path not in _UNMODELLED:
            return join(V_UNKNOWN, reached)
        # What the result is, is not known either: whatever is read from it or called on it gives any of that, or it.
        made = self._store.allocate("native", call.span.start, "outside")
        self._store.extend(made)
        self._store.put_element(made, join(reached, of(made)))
        return join(V_UNKNOWN, join(reached, of(made)))

    def _reached(self, given: Sequence[Value], span: Span) -> Value:
        """Return all that an algorithm may read from what it got: members, inherited ones, and what protocols give."""
        result: Value = BOTTOM
        pending = sorted(objects_of(frozenset().union(*given)), key=lambda each: each.serial)
        seen = set(pending)
        while pending:
            target = pending.pop()
            self._dataflow.spend()
            target.readers[self._dataflow.reader] = None
            found = join(of(target), target.everything())
            for getter in list(target.getters.values()):
                found = join(found, self._machine.call(getter, of(target), (), span))
            called = set[Value]()
            for name in _PROTOCOLS:
                method = self._method_lookup.get_method(target, name)
                if (
                    method and method not in called
                ):  # an object with unknown members gives the same ones for each
                    called.add(method)
                    made = self._machine.call(method, of(target), (V_UNKNOWN,), span, V_UNKNOWN)
                    found = join(found, made)
            result = join(result, found)
            fresh = objects_of(found | target.prototype) - seen
            seen |= fresh
            pending.extend(sorted(fresh, key=lambda each: each.serial))
        return result

    def _is_ordinary(self, target: HeapObject, owner: str, path: str) -> bool:
        target.readers[self._dataflow.reader] = None
        if target.kind == "proxy" and path in _WRITE_THROUGH:
            return True
        if path == _LISTING and target.kind in _LISTED:
            return not self._overrides(target, _CONSULTED["Iterator"])
        if target.kind not in _KINDS[owner]:
            return path in _BRANDED or self._is_plain_list(target, owner)
        if owner in _GIVE_THEIR_RECEIVER:
            return self._is_bare(target)
        by_others = owner == "Iterator" and target.unit is not None and _delegates(target)
        if by_others and self._patches.has(MAY_HAND_ON_RESULTS):
            return False
        consulted = _CONSULTED[owner]
        if path in _DELEGATES:
            consulted |= {_DELEGATES[path]}
        return not self._overrides(target, consulted) and not self._has_accessors(target)

    def _is_own_pattern(self, target: HeapObject) -> bool:
        """Whether an object is a regular expression of the payload's own making: changed, or of a subclass."""
        if target.kind == "regexp":
            return self._overrides(target, _CONSULTED["RegExp"])
        return target.kind == "object" and not self._method_lookup.inherits_only_from(target, _ROOT)

    def _is_plain_list(self, target: HeapObject, owner: str) -> bool:
        """Whether a foreign receiver is a list of the host, or one whose elements and length are plain data."""
        if target.kind != "object" or owner != "Array" or target.getters or target.setters:
            return False
        length = target.properties.get("length", BOTTOM)
        return all(type(parent) is Known for parent in target.prototype) and not (
            objects_of(length) or self._overrides(target, _CONSULTED["Array"] | {_DELEGATES[_JOINING]})
        )

    @staticmethod
    def _is_bare(target: HeapObject) -> bool:
        named = any(not name.startswith(SYMBOL_PREFIX) or name == "@@iterator" for name in target.properties)
        return (
            not named
            and not target.getters
            and not target.setters
            and all(type(parent) is Known for parent in target.prototype)
        )

    def _overrides(self, target: HeapObject, consulted: frozenset[str]) -> bool:
        """Whether the object or a prototype that the payload made has one of the members."""
        pending, seen = [target], {target}
        while pending and len(seen) <= _MAX_CHAIN:
            current = pending.pop()
            current.readers[self._dataflow.reader] = None
            own = consulted - _SLOTS if current.kind == "regexp" else consulted
            if not own.isdisjoint(current.getters):
                return True
            for name in own.intersection(current.properties):
                if name != _COUNTED or objects_of(current.properties[name]):  # `re.lastIndex = 0` is a number
                    return True
            parents = objects_of(current.prototype) - seen
            seen |= parents
            pending.extend(parents)
        return bool(pending)

    @staticmethod
    def _has_accessors(target: HeapObject) -> bool:
        return any(is_index(name) for name in (*target.getters, *target.setters))


def _delegates(generator: HeapObject) -> bool:
    """Whether a generator hands on the results of other iterators as they are (``yield*``)."""
    return generator.unit is not None and any(
        instruction[0] is Op.YIELD and instruction[3] for instruction in generator.unit.code
    )
