"""Reads from catalogued objects and built-in prototypes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.catalogue.denied_data import INSIDE
from evalward.guard.constructs import (
    constructor_chain,
    function_constructor,
    nested_evaluation,
    process_member,
)
from evalward.guard.constructs.labels import is_known_label
from evalward.guard.constructs.rank import Rank
from evalward.guard.domain.atoms import (
    ANY_STRING,
    BOTTOM,
    PRIMITIVE_UNKNOWNS,
    TAINTED_DATA,
    UNDEFINED,
    V_UNDEFINED,
    Known,
    Value,
    host,
    known,
    of,
    symbol,
)
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.slots import (
    ANY_INDEX,
    PRIVATE_PREFIX,
    SYMBOL_ITERATOR,
    SYMBOL_PREFIX,
    SYMBOL_SPECIES,
)
from evalward.guard.domain.span import Span
from evalward.guard.domain.values import join
from evalward.guard.interpret.objects.constructors import class_of_driver, constructor_named
from evalward.guard.interpret.objects.intrinsics import ELEMENT_PROTOTYPE
from evalward.guard.interpret.objects.named_access import in_its_place
from evalward.guard.interpret.objects.private_api import denied_member
from evalward.guard.syntax.literals import is_index

if TYPE_CHECKING:
    from evalward.guard.interpret.held_texts import HeldTexts
    from evalward.guard.interpret.objects.denied_reads import DeniedReads
    from evalward.guard.interpret.objects.host_objects import HostObjects
    from evalward.guard.interpret.run_state import RunState

MAX_CHAIN = 32
INHERITED = frozenset(
    {"toString", "valueOf", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString"}
)
INHERITED_ACCESSORS = frozenset(
    {"__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__"}
)

# What TypeScript defines unless it is there, as in `var __awaiter = (this && this.__awaiter) || function …`.
_COMPILER_HELPERS = frozenset(
    [
        *("__assign", "__asyncDelegator", "__asyncGenerator", "__asyncValues", "__await", "__awaiter"),
        *("__classPrivateFieldGet", "__classPrivateFieldIn", "__classPrivateFieldSet", "__createBinding"),
        *("__decorate", "__esDecorate", "__exportStar", "__extends", "__generator", "__importDefault"),
        *("__importStar", "__makeTemplateObject", "__metadata", "__param", "__propKey", "__read", "__rest"),
        *("__runInitializers", "__setFunctionName", "__spread", "__spreadArray", "__values"),
    ]
)

_KEEPERS = frozenset({"Timeout.prototype"})  # objects that keep the arguments of the call that made them
_OF_CLASSES = frozenset({"constructor", "prototype"})
_DRIVERS = ("playwright.", "puppeteer", "selenium.")
_CONSOLE_STREAMS = frozenset({"_stdout", "_stderr"})  # Node's console keeps those of the process
_NAMED: Value = of(TAINTED_DATA, known("Element"))

# `%IteratorPrototype%` is found as the prototype of any object, or as an object that has none.
_ITERATORS = dict.fromkeys(("Iterator.prototype", "Object.prototype", ""), "Iterator.prototype.@@iterator")
_ITERATORS["String.prototype"] = "String.prototype.@@iterator"


class Catalogued:
    """Reads of catalogued objects."""

    def __init__(
        self, state: RunState, held: HeldTexts, host_objects: HostObjects, denied_reads: DeniedReads
    ) -> None:
        self._dataflow = state.dataflow
        self._exposure = state.exposure
        self._global_object = state.exposure.global_object
        self._store = state.store
        self._patches = state.store.patches
        self._findings = state.findings
        self._catalogue = state.surroundings.catalogue
        self._lowered = state.surroundings.lowered
        self._modules = state.surroundings.modules
        self._held = held
        self._host_objects = host_objects
        self._denied_reads = denied_reads

    def module_named(self, name: str, span: Span) -> Value:
        """Return the module that a name stands for where the payload runs."""
        made = self._modules[name]
        for atom in made:
            self._findings.origin(atom, None, f"`{name}` is read here", span)
        return made

    def get_builtin(self, path: str, name: str, span: Span) -> Value:
        """Return a member of a built-in prototype or of its prototypes."""
        iterator = _ITERATORS.get(path, "Array.prototype.values")
        for _ in range(MAX_CHAIN):
            if not path:
                break
            entry = self._catalogue.get(path)
            member = entry.members.get(name)
            if member is not None:
                if name == "constructor":
                    return constructor_named(self._findings, member.result[1:], span)
                constant = self._host_objects.constant(member.result, member.label)
                if constant is not None and member.label is None:
                    return constant | V_UNDEFINED if member.absent else constant
                made = self._host_objects.materialize(
                    member.result, span.start, member.label, f"{path}.{name}"
                )
                if member.label is not None:
                    for atom in made:
                        self._findings.origin(atom, None, f"`{name}` is read here", span)
                        if type(atom) is Known:
                            self._denied_reads.read_denied_data(atom, span)
                return made | V_UNDEFINED if member.absent else made
            denied = denied_member(path, name)
            if denied is not None:
                self._findings.origin(denied, None, f"`{name}` is private to `{path}`", span)
                return of(denied)
            path = entry.prototype
        return (
            of(known(iterator if name == SYMBOL_ITERATOR else name))
            if name.startswith(SYMBOL_PREFIX) and not name.startswith(PRIVATE_PREFIX)
            else BOTTOM
        )

    def get_from_known(self, atom: Known, name: str, span: Span) -> Value:
        entry = self._catalogue.get(atom.path)
        if name in _OF_CLASSES and entry.unresolved == "playwright":
            return class_of_driver(self._findings, atom, name, span)
        member = entry.members.get(name)
        if member is None:
            return self._unlisted(atom, name, span)
        if name == "constructor":
            if not atom.path.endswith(("prototype", "Element", "electron.app")):
                return self._unlisted(atom, name, span)
            named = constructor_named(self._findings, member.result[1:], span)
            return named | in_its_place(self._catalogue, self._exposure, atom, name, named)
        if atom.path == "DOMInterface" and name == "prototype":
            return of(ELEMENT_PROTOTYPE)
        if member.result == "symbol" and atom.path == "Symbol":
            return of(symbol(name), UNDEFINED) if member.absent else of(symbol(name))
        made = self._host_objects.constant(member.result, member.label)
        if made is None:
            made = self._host_objects.materialize(
                member.result, span.start, member.label, f"{atom.path}.{name}"
            )
        made = join(made, self._patches.read(f"{atom.path}.{name}"))
        made |= (
            self.global_value(name)
            if atom.path == "globalThis"
            else in_its_place(self._catalogue, self._exposure, atom, name, made)
        )
        if member.result == "text":
            made |= self._dataflow.read(self._held.given)
        elif member.result == "string" and atom.path == "RegExp":
            made |= self._held.last_match()
        for child in made:
            if type(child) is Known and child.label is not None:
                note = (
                    f"`{name}` is read from `{atom.path}`"
                    if atom.path != "globalThis"
                    else f"`{child.path}` is read here"
                )
                self._findings.origin(child, atom, note, span)
                self._denied_reads.read_denied_data(child, span)
        return made | V_UNDEFINED if member.absent else made

    def _unlisted(self, atom: Known, name: str, span: Span) -> Value:
        """Return a member that the catalogue does not list: own, inherited, or the entry's default."""
        made = self._unlisted_builtin(atom, name, span)
        made |= in_its_place(self._catalogue, self._exposure, atom, name, made)
        put = self._patches.read(f"{atom.path}.{name}")
        return join(made or V_UNDEFINED, put) if put else made  # what is frozen takes nothing

    def _unlisted_builtin(self, atom: Known, name: str, span: Span) -> Value:
        entry = self._catalogue.get(atom.path)
        if is_index(name):
            return self.element_of(atom, span.start) | V_UNDEFINED  # beyond its end
        if name == "constructor" and entry.callable:
            label = constructor_chain.LABEL if atom.by_constructor else function_constructor.LABEL
            made = known("Function", label)
            self._findings.origin(made, atom, "`constructor` of a constructor is `Function`", span)
            # A denied member need not be a function: `process.mainModule.constructor` loads modules.
            return of(made, atom) if self._denied_reads.is_denied(atom) else of(made)
        if atom.path == "NamedNodeMap" and name.startswith("on"):
            return of(known("HandlerAttr"))
        if self._denied_reads.is_denied(atom):
            return of(self._inside(atom, span))
        if atom.path == "globalThis":
            stored = self.global_value(name)
            if stored:
                return stored
            if name in self._modules:
                return self.module_named(name, span)
            if name in _COMPILER_HELPERS and name in self._lowered.global_registers:
                return BOTTOM
        if name == "prototype" and entry.instance:
            return of(known(entry.instance))
        if name == SYMBOL_SPECIES and entry.instance:
            return of(atom) | V_UNDEFINED  # not every class has species
        if atom.path == "console" and name in _CONSOLE_STREAMS:
            return of(known("process.stdout", "process.stdout"))
        inherited = BOTTOM
        if not entry.others.startswith("deny") or name in INHERITED:
            inherited = self.get_builtin(entry.prototype, name, span)
        if inherited and (
            name in INHERITED
            or name in INHERITED_ACCESSORS
            or name == "constructor"
            or entry.others not in {"deny", "host"}
        ):
            return inherited
        if atom.path.startswith(_DRIVERS) and (name[:1] == "_" or name[-1:] == "_"):
            made = known(f"{atom.path}.{name}", nested_evaluation.LABEL)
            self._findings.origin(made, atom, f"`{name}` leads to the driver's connection", span)
            return of(made)
        denied = denied_member(atom.path, name)
        if denied is not None:
            self._findings.origin(denied, atom, f"`{name}` is private to `{atom.path}`", span)
            return of(denied)
        match entry.others:
            case "deny" if self._denied_reads.allowed_read(atom.path, name):
                return of(ANY_STRING)
            case "deny":
                path = f"{atom.path}.{name}"
                made = known(path, _process_label(path) if atom.path == "process" else atom.path)
                self._findings.origin(made, atom, f"`{name}` is read from `{atom.path}`", span)
                self._denied_reads.read_denied_data(made, span)
                return of(made)
            case "named":  # an element or a window by its name, where the host has nothing of its own
                return _NAMED
            case "host":
                if atom.path == "globalThis":
                    return of(host(name)) | self._exposure.named_window(name)
                return of(host(f"{atom.path}.{name}"))
            case "undefined" if self._may_have_more(atom.path):
                return of(host(f"{atom.path}.{name}"), UNDEFINED)
            case "undefined":
                is_host = entry.callable and atom.path not in self._catalogue.functions_of_language
                # Written in JavaScript, as Node's `fetch`, a function has a `prototype`.
                return of(TAINTED_DATA, UNDEFINED) if is_host and name == "prototype" else BOTTOM
            case others if others.startswith("deny:"):
                made = known(f"{atom.path}.{name}", others[5:])
                self._findings.origin(made, atom, f"`{name}` is read from `{atom.path}`", span)
                self._denied_reads.read_denied_data(made, span)
                return of(made)
            case others:
                value = self._kept_by(atom.path, others)
                # A host object has members that no catalogue lists, and a method among them is a function.
                return value | of(TAINTED_DATA) if value <= PRIMITIVE_UNKNOWNS else value

    def _may_have_more(self, path: str) -> bool:
        """Whether another version of a host object may have members that its table lacks; a driver has one version."""
        if path not in self._catalogue.entries or path.startswith((*_DRIVERS, "electron.")):
            return False
        return self._catalogue.is_of_host(path)

    def _inside(self, atom: Known, span: Span) -> Known:
        """Return a read from a capability whose members are not catalogued.

        A path per member would make as many values as there are paths in a loop.
        """
        path = f"{atom.path}.{INSIDE}"
        if not self._catalogue.denied_data.is_data(path):
            return atom
        made = known(path, atom.label)
        self._findings.origin(made, atom, f"a member is read from `{atom.path}`", span)
        self._denied_reads.read_denied_data(made, span)
        return made

    def element_of(self, atom: Known, start: int) -> Value:
        """Return a read by a numeric key; from a capability that is not catalogued, the same as by any key."""
        if atom.label is not None and self._catalogue.denied_data.has_secret_names(atom.path):
            self._findings.report(
                atom.label, Rank.LEAVES, Span.at(start), atom, f"`{atom.path}` is read by a number"
            )
        if self._denied_reads.is_denied(atom):
            return of(atom)
        put = self._patches.read(f"{atom.path}.{ANY_INDEX}")
        return self._kept_by(atom.path, self._catalogue.get(atom.path).element) | put

    def _kept_by(self, path: str, result: str) -> Value:
        """Return what the members of an object of the host give that no list names: one object, and what it holds."""
        value = self._host_objects.materialize(result, 0, None, f"{path}.*")
        for made in value:
            if isinstance(made, HeapObject) and path in _KEEPERS:
                self._patches.put(f"{path}.*", V_UNDEFINED)
                made.readers[self._dataflow.reader] = None
                value |= made.elements
        return value

    def global_value(self, name: str) -> Value:
        """Return what the payload assigned to a name of the global object."""
        self._global_object.readers[self._dataflow.reader] = None
        result = self._global_object.properties.get(name, BOTTOM)
        register = self._lowered.global_registers.get(name)
        return join(result, self._dataflow.read(register)) if register is not None else result


def _process_label(path: str) -> str:
    """Return the label of a member of `process`: that of the family for a name that no label can have.

    Such a name may be any text, also one that no reply or record can carry.
    """
    return path if is_known_label(path) else process_member.LABEL
