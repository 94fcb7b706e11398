"""Calls of the functions that the catalogue names (guard.md §2, use)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.constructs import prototype_tampering
from evalward.guard.constructs.rank import Rank
from evalward.guard.domain.atoms import BOTTOM, V_UNDEFINED, V_UNKNOWN, Known, Value, host, known, of
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.slots import CONSOLE_IS_HEARD, LOGGED_VALUES, SYMBOL_TO_PRIMITIVE
from evalward.guard.domain.values import REFLECTING, join
from evalward.guard.interpret.atom_order import objects_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evalward.guard.catalogue import Entry
    from evalward.guard.domain.atoms import Atom
    from evalward.guard.domain.call import Call
    from evalward.guard.domain.span import Span
    from evalward.guard.interpret.calls.conditions import Conditions
    from evalward.guard.interpret.held_texts import HeldTexts
    from evalward.guard.interpret.judgement import Judgement
    from evalward.guard.interpret.machine import Machine, Transfer
    from evalward.guard.interpret.method_lookup import MethodLookup
    from evalward.guard.interpret.objects.host_objects import HostObjects
    from evalward.guard.interpret.run_state import RunState

_WRAPPERS = frozenset({"String", "Number", "Boolean"})  # `new Number(1)` is an object
# Their constructors read members of their arguments, all of them or those of the options.
_READERS_OF_MEMBERS = frozenset({"URLSearchParams", "URL", "Blob", "EventClass"})
_SPECIES = frozenset(
    f"{path}.prototype.{name}"
    for path, names in {
        "Array": "map filter slice splice concat flat flatMap",
        "Promise": "then catch finally",
    }.items()
    for name in names.split()
)
# Functions that change their receiver, or their first argument.
_CHANGES_THIS = frozenset(
    f"Array.prototype.{name}"
    for name in "push pop shift unshift splice sort reverse fill copyWithin".split()  # noqa: SIM905
)
_CHANGES_FIRST = frozenset(
    {
        "Object.freeze",
        "Object.seal",
        "Object.preventExtensions",
        "Reflect.preventExtensions",
        "Error.captureStackTrace",
    }
)
_MAKES_ANOTHER = frozenset(
    f"{path}.{name}"
    for path, names in {"Promise": "resolve reject all allSettled any race try", "Array": "from of"}.items()
    for name in names.split()
)
_INSPECTED = "@@ nodejs.util.inspect.custom"
_CONVERSIONS = (
    "valueOf",
    "toString",
    SYMBOL_TO_PRIMITIVE,
    "toLocaleString",
    "join",
    _INSPECTED,
)
_PRINTED = frozenset({_INSPECTED, "toJSON", "toString", "valueOf", SYMBOL_TO_PRIMITIVE})
_CONVERTED = ("length", "size", "lastIndex")  # properties that built-in functions make numbers of
_SCRIPT_ELEMENT = known("ScriptElement")
_SEARCHING = frozenset(
    {
        *(f"String.prototype.{name}" for name in "match matchAll replace replaceAll search split".split()),  # noqa: SIM905
        *(f"RegExp.prototype.@@{name}" for name in "match matchAll replace search split".split()),  # noqa: SIM905
        "RegExp.prototype.exec",
        "RegExp.prototype.test",
    }
)
_HOLDING_DRIVERS = ("playwright.", "selenium.", "electron.")
_DRIVERS = (*_HOLDING_DRIVERS, "console.")
_NAMING = frozenset(
    {f"document.create{kind}{space}" for kind in ("Element", "Attribute") for space in ("", "NS")}
    | {"Element.setAttribute", "Element.setAttributeNS", "Element.toggleAttribute"}
)
_READING = frozenset(
    f"{owner}.{name}" for owner in ("Object", "Reflect") for name in ("get", "getOwnPropertyDescriptor")
) | {"Object.getOwnPropertyDescriptors"}
_KEY_CHECKS = frozenset({"Object.hasOwn", "Object.prototype.hasOwnProperty"})

_JUDGED = _KEY_CHECKS | _READING | _CHANGES_THIS | _CHANGES_FIRST | {"Reflect.deleteProperty"}

_OBJECTS = frozenset({"unknown", "plain", ""})  # results that may hold what a trap gives
_ALL_CONVERSIONS = frozenset(_CONVERSIONS)
_ASKED = _ALL_CONVERSIONS | frozenset(_CONVERTED)


def _host_objects(value: Value) -> Value:
    return frozenset(atom for atom in value if type(atom) is Known)


def _may_convert(given: HeapObject) -> bool:
    """Whether the payload may define the primitive that an object converts to."""
    return bool(
        given.prototype or given.getters or given.extensible or not _ASKED.isdisjoint(given.properties)
    )


def _gives_objects(entry: Entry, call: Call) -> bool:
    return call.constructing or entry.result in _OBJECTS or entry.result.startswith("new:")


class KnownCalls:
    """Calls of built-in and host functions in the catalogue."""

    def __init__(
        self,
        state: RunState,
        judgement: Judgement,
        conditions: Conditions,
        held: HeldTexts,
        host_objects: HostObjects,
        method_lookup: MethodLookup,
        transfers: Mapping[str, Transfer],
        machine: Machine,
    ) -> None:
        self._dataflow = state.dataflow
        self._store = state.store
        self._exposure = state.exposure
        self._methods = state.exposure.methods
        self._findings = state.findings
        self._catalogue = state.surroundings.catalogue
        self._judgement = judgement
        self._conditions = conditions
        self._held = held
        self._host_objects = host_objects
        self._method_lookup = method_lookup
        self._transfers = transfers
        self._machine = machine

    def use_conversions(self, value: Value, span: Span) -> None:
        """Judge capabilities used as conversion methods: a built-in function may convert its arguments."""
        asked = [given for given in value if isinstance(given, HeapObject) and _may_convert(given)]
        for given in tuple(asked):
            for name in _CONVERTED:
                asked.extend(objects_of(given.properties.get(name, BOTTOM)))
        for given in asked:
            defined = self._method_lookup.defined_of(given, _ALL_CONVERSIONS)
            for name in _CONVERSIONS if defined else ():
                method = self._method_lookup.get_method(given, name) if name in defined else BOTTOM
                if method:
                    self._judgement.use(method, Flow.CALLBACK, span)

    def _print(self, call: Call) -> None:
        """Judge the conversions of printed values, and call those of all that is within: they are given functions."""
        values = (*call.args, call.rest)
        for value in values:
            self.use_conversions(value, call.span)
        # An inspector gets the options, too.
        options = objects_of(call.arg(1)) if call.path == "console.dir" else BOTTOM
        pending = sorted(objects_of(BOTTOM.union(*values)), key=lambda each: each.serial)
        seen = set(pending)
        for given in pending:
            given.readers[self._dataflow.reader] = None
            self._dataflow.spend()
            defined = self._method_lookup.defined_of(given, _PRINTED)
            # All of them stand for an object with a member whose name is not known.
            for name in sorted(defined) if defined != _PRINTED else ():
                method = self._method_lookup.get_method(given, name)
                self._machine.call(method, of(given), (V_UNKNOWN | options,) * 3, call.span, V_UNKNOWN)
            inside = objects_of(given.everything()) - seen
            seen |= inside
            pending.extend(sorted(inside, key=lambda each: each.serial))

    def _foreign_receivers(self, call: Call) -> Value:
        """Return the functions and namespaces that a method of the host is called on: some methods give `this`."""
        return frozenset(
            atom
            for atom in call.this
            if (atom.callable if isinstance(atom, HeapObject) else self._is_of_language(atom))
        )

    def _is_of_language(self, atom: Atom) -> bool:
        return type(atom) is Known and (
            atom.path in REFLECTING
            or (self._catalogue.get(atom.path).callable and not self._catalogue.is_of_host(atom.path))
        )

    def _judge_known(self, path: str, call: Call) -> None:
        """Record what a call of a built-in function implies for the payload's keys, objects and prototypes."""
        if path in _KEY_CHECKS:
            self._findings.key_checks[call.span] = len(call.args) - (path == "Object.hasOwn")
        if path in _READING and not all(isinstance(a, HeapObject) for a in call.arg(0)):
            self._methods.readers[self._dataflow.reader] = None
            if self._methods.properties:
                self._exposure.expect_receivers()
        if path == "Reflect.deleteProperty":
            self._exposure.expect_deletions()
        if path in _CHANGES_THIS or path in _CHANGES_FIRST:
            self._judge_change(call.this if path in _CHANGES_THIS else call.arg(0), call.span)

    def _judge_change(self, changed: Value, span: Span) -> None:
        for atom in changed:
            if type(atom) is not Known:
                self._judgement.change(atom, span)
            elif atom.path.endswith(".prototype"):
                self._findings.report(
                    prototype_tampering.LABEL, Rank.USED, span, atom, f"`{atom.path}` is changed"
                )

    def _note_texts(self, path: str, call: Call) -> None:
        """Note texts that the engine or a page keeps: those that are searched, and what a driver passes on."""
        if path in _SEARCHING:
            searched = call.this if path.startswith("String") else call.arg(0)
            self._held.search(self._machine.to_string(searched, call.span))
        elif path.startswith(_HOLDING_DRIVERS):
            self._held.hold((*call.args, call.rest))  # a page's URL, what is typed there
        elif path.startswith("console."):
            self._held.tell((*call.args, call.rest))
            self._print(call)
            if self._store.patches.has(CONSOLE_IS_HEARD):
                for value in (*call.args, call.rest):
                    self._judgement.leak(value, Flow.ARGUMENT, call.span)
                    self._store.patches.put(LOGGED_VALUES, objects_of(value) | _host_objects(value))
        elif path in _NAMING:
            self._held.hold((call.arg(path.endswith("NS")), call.rest))  # `localName` gives it back

    def call_known(self, atom: Known, call: Call) -> Value:
        """Call a catalogued function; outside the conditions of its model, everything that it got may change."""
        made = self._call_modelled(atom, call)
        return made if self._conditions.hold(call) else join(made, self._conditions.outside(call))

    def _call_modelled(self, atom: Known, call: Call) -> Value:
        path = atom.path
        if atom.label is not None:
            self._judgement.use(of(atom), Flow.CONSTRUCT if call.constructing else Flow.CALL, call.span)
        if _SCRIPT_ELEMENT in call.this:  # `document.body.append.call(script, …)`
            member = self._catalogue.get("ScriptElement").members.get(path.rpartition(".")[2])
            if member is not None and member.label is not None and atom.label is None:
                self._findings.report(member.label, Rank.USED, call.span, atom, "a script is given content")
        if path in _JUDGED:
            self._judge_known(path, call)
        self._note_texts(path, call)
        native = self._transfers.get(path)
        wraps = call.constructing and path in _WRAPPERS
        if native is not None and not wraps:
            reader = self._dataflow.reader
            proxied = False
            for value in (call.this, *call.args, call.rest):
                converts = False
                for given in value:
                    if type(given) is HeapObject:
                        given.readers[reader] = None
                        proxied = proxied or given.kind == "proxy"
                        converts = converts or _may_convert(given)
                if converts:
                    self.use_conversions(value, call.span)
            if path in _READERS_OF_MEMBERS:
                for value in (*call.args, call.rest):
                    held = frozenset(a for a in value if type(a) is Known and a.label is not None)
                    self._judgement.use(held, Flow.ARGUMENT, call.span)
            made = native(self._machine, call)
            if (
                proxied
                and not self._conditions.may_trap(path)
                and _gives_objects(self._catalogue.get(path), call)
            ):
                made = join(made, self._conditions.outside(call))
            if call.constructing or path == "Error":
                self._held.keep_in(made, (*call.args, call.rest))
            if path in _MAKES_ANOTHER:
                classes = frozenset(a for a in objects_of(call.this) if a.kind == "class")
                return join(made, self._machine.construct(classes, (), call.span)) if classes else made
            if path not in _SPECIES:
                return made
            # An instance of a payload's subclass: the method makes another one of it.
            return join(made, frozenset(a for a in objects_of(call.this) if a.kind == "object"))
        entry = self._catalogue.get(path)
        if not entry.inert:
            for value in (*call.args, call.rest):
                self._judgement.leak(value, Flow.ARGUMENT, call.span)
            self._judgement.leak(objects_of(call.this), Flow.ARGUMENT, call.span)
        if call.constructing:
            made = (
                self._host_objects.instance_of(entry.instance, call.span.start)
                if entry.instance
                else V_UNKNOWN
            )
            self._held.keep_in(made, (*call.args, call.rest))
            if wraps:
                for instance in made:
                    if isinstance(instance, HeapObject) and native is not None:
                        self._host_objects.wrap(instance, native(self._machine, call))
            return made
        made = self._host_objects.materialize(entry.result, call.span.start)
        if made == V_UNDEFINED and not entry.inert and self._catalogue.is_of_host(path):
            made |= of(host(path))  # a later version gives an object: `play()` and `scrollTo()` give promises
        if self._catalogue.is_of_host(path):
            made |= self._foreign_receivers(call)
        if entry.inert or atom.path.startswith(_DRIVERS):
            return made
        made = self._held.answered(atom.path, made, (*(objects_of(call.this),), *call.args, call.rest))
        return made | self._dataflow.read(self._held.given) if entry.result == "text" else made
