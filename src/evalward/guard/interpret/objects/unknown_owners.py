"""Reads by a known name from unknown owners and host objects: the distance rule (guard.md §2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.catalogue.any_receiver import (
    DRIVERS,
    EVALUATING,
    JUDGING,
    JUDGING_OF_DRIVERS,
    PRIVATE_OF_DRIVERS,
)
from evalward.guard.constructs import (
    constructor_chain,
    eval_call,
    function_constructor,
    global_object,
    nested_evaluation,
    worker,
)
from evalward.guard.domain.atoms import (
    ANY_STRING,
    BOTTOM,
    COMPOSED_CHARACTER,
    CONSTRUCTOR_OF_DATA,
    CONSTRUCTOR_OF_UNKNOWN,
    CONSTRUCTORS_OF_UNKNOWN,
    HOST_HELD_TEXT,
    NEVER_CALLABLE,
    OPAQUE_HOST_MEMBER,
    STRING_UNKNOWNS,
    TAINTED_DATA,
    TAINTED_SELECTION,
    TAINTED_SELECTION_PROTOTYPE,
    TAINTED_STRING,
    UNKNOWN,
    UNKNOWN_PLAIN,
    V_ANY_NUMBER,
    Host,
    Known,
    Unknown,
    Value,
    host,
    known,
    of,
)
from evalward.guard.domain.slots import LENT_OBJECTS, MAY_HOLD_FUNCTIONS
from evalward.guard.domain.values import REFLECTING, join
from evalward.guard.interpret.objects.catalogued import INHERITED, INHERITED_ACCESSORS, Catalogued
from evalward.guard.interpret.objects.intrinsics import PROTOTYPE_OF_HOST, UNKNOWN_PRIMITIVE_PROTOTYPES
from evalward.guard.interpret.objects.private_api import denied_member
from evalward.guard.syntax.literals import is_index

if TYPE_CHECKING:
    from evalward.guard.domain.atoms import Atom
    from evalward.guard.domain.span import Span
    from evalward.guard.interpret.held_texts import HeldTexts
    from evalward.guard.interpret.objects.catalogued import Catalogued
    from evalward.guard.interpret.objects.host_objects import HostObjects
    from evalward.guard.interpret.run_state import RunState

_COMPILERS = {"eval": eval_call.LABEL, "Function": function_constructor.LABEL}
_CALLS = frozenset({"call", "apply", "bind"})
_OF_NODES = {"ownerDocument": known("document"), "defaultView": known("globalThis", global_object.LABEL)}
_NEVER_HELD = frozenset({"constructor", "length"})
# Methods that only strings have: data whose method of that name is read is a string.
_OF_TEXTS = frozenset(
    {
        "charAt",
        "endsWith",
        "padEnd",
        "padStart",
        "split",
        "startsWith",
        "substring",
        "toLowerCase",
        "toUpperCase",
        "trim",
        "trimEnd",
        "trimStart",
    }
)

# Of an SVG element, what is a text of others is an object with these (SVG §4.6).
_OF_ANIMATED = frozenset({"baseVal", "animVal"})
# What reads and changes prototypes and descriptors.
_OF_OBJECT = frozenset(
    {
        "assign",
        "getPrototypeOf",
        "setPrototypeOf",
        "getOwnPropertyDescriptor",
        "getOwnPropertyDescriptors",
        "defineProperty",
        "defineProperties",
    }
)


class UnknownOwners:
    """Reads by a name from an unknown owner."""

    def __init__(
        self, state: RunState, held: HeldTexts, host_objects: HostObjects, catalogued: Catalogued
    ) -> None:
        self._dataflow = state.dataflow
        self._exposure = state.exposure
        self._patches = state.store.patches
        self._findings = state.findings
        self._catalogue = state.surroundings.catalogue
        self._modules = state.surroundings.modules
        self._driven = state.surroundings.driven
        self._held = held
        self._host_objects = host_objects
        self._catalogued = catalogued

    def get_from_list(self, name: str, span: Span) -> Value:
        """Return what a list of the document may have under a name that lists do not have.

        An element whose name is that of the list stands in its place, and a frame as its window (HTML §3.1.7).
        """
        made: Value = BOTTOM
        if name not in self._catalogue.get("Array.prototype").members:
            for path in ("Element", "globalThis"):
                if name in self._catalogue.get(path).members:
                    made = join(made, self._catalogued.get_from_known(known(path), name, span))
        return made

    def get_from_unknown(self, atom: Atom, name: str, span: Span) -> Value:
        made = self._get_from_unknown(atom, name, span)
        if name in _OF_OBJECT and type(atom) is Unknown and atom not in NEVER_CALLABLE:
            made |= of(known(f"Object.{name}"))  # the `constructor` of any object may be `Object`
        return made

    def _get_from_unknown(self, atom: Atom, name: str, span: Span) -> Value:
        if atom in STRING_UNKNOWNS:
            if name in _OF_ANIMATED:
                return of(TAINTED_STRING)
            if name == "length" or not is_index(name):
                return (
                    V_ANY_NUMBER
                    if name == "length"
                    else self._catalogued.get_builtin("String.prototype", name, span)
                )
            return of(
                COMPOSED_CHARACTER if atom is ANY_STRING else atom
            )  # the letter at an index that the payload writes down
        if isinstance(atom, Host):
            return self._get_from_host(atom, name, span)
        if atom in UNKNOWN_PRIMITIVE_PROTOTYPES:
            return self._catalogued.get_builtin(UNKNOWN_PRIMITIVE_PROTOTYPES[atom], name, span)
        if atom is HOST_HELD_TEXT:
            return BOTTOM if name in _CALLS or name in _NEVER_HELD else self._held.given_back()
        if atom is OPAQUE_HOST_MEMBER:
            return of(known(f"Function.prototype.{name}")) if name in _CALLS else BOTTOM
        if name == "constructor":
            return self._constructor_of_unknown(atom, span)
        if name == "prototype" and atom in CONSTRUCTORS_OF_UNKNOWN:
            return of(PROTOTYPE_OF_HOST, UNKNOWN) | self._lent(name, span)
        if name in INHERITED or name in INHERITED_ACCESSORS:
            found = self._catalogued.get_builtin("Object.prototype", name, span)
            return found if atom is UNKNOWN_PLAIN else found | of(UNKNOWN)
        if atom is TAINTED_DATA:
            if name in _OF_TEXTS and not self._patches.has(MAY_HOLD_FUNCTIONS):
                return of(known(f"String.prototype.{name}")) | self._put_there(name)
            return self._may_be_page_object(atom, name, span) | self._put_there(name) | self.data_inside()
        if atom is TAINTED_SELECTION:
            return of(TAINTED_SELECTION_PROTOTYPE) if name == "prototype" else BOTTOM
        if atom is TAINTED_SELECTION_PROTOTYPE:
            return of(atom) if name == "prototype" else BOTTOM
        if name in _CALLS:
            return of(known(f"Function.prototype.{name}"))
        return self._may_be_page_object(atom, name, span) | self._put_there(name) | of(UNKNOWN)

    def _constructor_of_unknown(self, atom: Atom, span: Span) -> Value:
        if atom in {CONSTRUCTOR_OF_UNKNOWN, CONSTRUCTOR_OF_DATA}:
            made = known("Function", constructor_chain.LABEL)
            self._findings.origin(made, atom, "`constructor` of a constructor is `Function`", span)
            return of(made)
        if atom in {UNKNOWN_PLAIN, TAINTED_DATA}:
            return of(CONSTRUCTOR_OF_DATA)
        self._findings.origin(CONSTRUCTOR_OF_UNKNOWN, atom, "`constructor` of what may be a function", span)
        return of(CONSTRUCTOR_OF_UNKNOWN)

    def _get_from_host(self, atom: Host, name: str, span: Span) -> Value:
        if name == "constructor":
            if not self._catalogue.is_of_interface(atom.path):
                return of(CONSTRUCTOR_OF_DATA)
            made = known("Function", constructor_chain.LABEL)
            self._findings.origin(made, atom, f"`constructor` of `{atom.path}`, a function", span)
            return of(made)
        if name in INHERITED or name in INHERITED_ACCESSORS:
            return self._catalogued.get_builtin("Object.prototype", name, span)
        if name in _CALLS:
            return of(known(f"Function.prototype.{name}"))
        if name == "prototype" and atom.path in self._catalogue.interfaces:
            return of(PROTOTYPE_OF_HOST)
        denied = denied_member(atom.path, name)
        if denied is not None:
            self._findings.origin(denied, atom, f"`{name}` is private to `{atom.path}`", span)
            return of(denied)
        if atom.path.startswith(DRIVERS) and (name[:1] == "_" or name[-1:] == "_"):
            return self._private_of_driver(f"{atom.path}.{name}", atom, span)
        return (
            self._may_be_page_object(atom, name, span)
            | self._put_there(name)
            | of(host(f"{atom.path}.{name}"))
        )

    def data_inside(self) -> Value:
        """Return the members of data: data, and functions once the payload has stored one in data."""
        return of(TAINTED_DATA, UNKNOWN) if self._patches.has(MAY_HOLD_FUNCTIONS) else of(TAINTED_DATA)

    def _put_there(self, name: str) -> Value:
        """Return the texts that the payload wrote into objects of the host under a name."""
        return self._patches.read(f"unknown.{name}")

    def _lent(self, name: str, span: Span) -> Value:
        """Return what policy decides about among the members of objects that the payload gave to other code."""
        found: Value = BOTTOM
        for atom in self._patches.read(LENT_OBJECTS):
            if type(atom) is not Known:
                continue
            member = self._catalogue.get(atom.path).members.get(name)
            if member is None or not member.result.startswith("@"):
                continue
            path = member.result[1:]
            if member.label is not None or path in self._catalogue.lenders or atom.path in REFLECTING:
                made = known(path, member.label)
                self._findings.origin(made, atom, f"`{name}` is read from what may be `{atom.path}`", span)
                found |= of(made)
        if name != "prototype" and (not name[:1].isupper() or name in self._catalogue.of_windows):
            return found
        for atom in self._exposure.lent_builtins():  # `Array`, `Intl`: what leads to a prototype
            if type(atom) is Known:
                member = self._catalogue.get(atom.path).members.get(name)
                if member is not None and member.label is None and member.result[:1] == "@":
                    found |= of(known(member.result[1:]))
        return found

    def _may_be_page_object(self, atom: Atom, name: str, span: Span) -> Value:
        """Return the method of this name that judges its arguments: any unknown object may be a window.

        Its namespaces and classes are not among data: `utils.cache.Reflect` of what a caller sends is the caller's.
        An object that the payload gave to other code may be what that gives back.
        """
        return self._by_name(name, span, perhaps_window=atom is not TAINTED_DATA) | self._lent(name, span)

    def _private_of_driver(self, path: str, owner: Atom, span: Span) -> Value:
        made = known(path, nested_evaluation.LABEL)
        self._findings.origin(made, owner, "a private member leads to the driver's connection", span)
        return of(made)

    def _by_name(self, name: str, span: Span, *, perhaps_window: bool) -> Value:
        if name in _COMPILERS:
            return of(known(name, _COMPILERS[name]))
        if name == "webContents" and "BrowserWindow" in self._modules:
            return self._host_objects.materialize(
                "new:electron.webContents.prototype", 0, None, "unknown.webContents"
            )
        if self._driven and name in PRIVATE_OF_DRIVERS:
            return self._private_of_driver(f"playwright.{name}", UNKNOWN, span)
        if name in EVALUATING:
            return of(known(f"electron.webContents.prototype.{name}", nested_evaluation.LABEL))
        if name.endswith("Worklet") and name != "Worklet":
            return of(known(f"host.{name}", worker.LABEL))
        if name in _OF_NODES:
            return of(_OF_NODES[name])
        path = JUDGING.get(name) or (JUDGING_OF_DRIVERS.get(name) if self._driven else None)
        if path is not None:
            return of(known(path))
        member = self._catalogue.of_windows.get(name) if perhaps_window else None
        return BOTTOM if member is None else of(known(member.result[1:], member.label))
