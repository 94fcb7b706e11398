"""The capability catalogue: the objects, their members, and the meaning of a read, call or write of each.

The data are TOML files in this directory, one per environment. A table describes one object by its path:

- ``values.<result>`` lists members that hold a value, ``methods.<result>`` members that are functions with that
  result, ``deny`` members that are capabilities (``"<label>" = "names"``), ``sinks.<kind>`` members whose *write*
  is a sink. A list is one string of names.
- ``result`` is the value of calling the object itself, ``instance`` the path that its instances inherit from,
  ``prototype`` the object's own prototype, ``element`` the value behind a numeric key.
- ``label`` makes the object itself a capability, ``others`` says what unlisted members are (``host``,
  ``undefined``, ``named``: an element or window by its name,
  ``deny``: a capability labelled ``<path>.<name>``), ``unresolved`` is the construct of a read by an unresolved key
  (none: the union of the members), ``inert`` marks functions that ignore their arguments.
- ``data``, ``identity``, ``inside`` and ``secret_names`` say which denied members are data (``denied_data``).
- ``absent`` lists members that some engines lack, or some of the objects that the table stands for.

A result is ``string text decoded number bigint numeric boolean undefined plain data unknown``, ``element`` (one that is
no script), ``@path`` (that object),
``new:path`` (an object that inherits from it),
``promise:<result>``, ``array:<result>``, ``iterator:<result>`` or ``collection:<result>`` (an array whose elements
have names, too).
"""

from __future__ import annotations

import hashlib
import tomllib
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any

from evalward.guard.catalogue.any_receiver import WRITTEN
from evalward.guard.catalogue.denied_data import DeniedData

ENVIRONMENTS = ("ecmascript", "node", "browser", "electron", "playwright", "selenium")

_LENDING = frozenset({"electron", "playwright", "puppeteer", "selenium"})
# Kinds of arguments that are code or markup.
_OF_CODE = ("texts", "markup", "bodies")
_MAX_FUNCTIONS = 2_048
# The fields of an entry that a later table of the same path overrides.
_FIELDS = ("label", "prototype", "instance", "result", "element", "others", "unresolved", "inert")
# Tables of names, which are no objects.
_NAMES_ONLY = frozenset({"globalThis", "modules", "arguments"})
# Every host has them, but they are not of ECMA-262; the sandbox has a `random` of its own.
_OF_HOSTS = frozenset({"console", "queueMicrotask", "structuredClone", "Math.random"})

# Objects that no other host object has a member for.
_OF_WINDOWS = frozenset({"navigator", "navigation", "customElements", "trustedTypes", "importScripts"})
MAYBE_WINDOWS = ("Element", "MessageSource")
"""Entries of what may be a window: the last element of an event's path, the source of a message."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One object of the catalogue."""

    path: str
    members: dict[str, Member] = field(default_factory=dict)
    sinks: dict[str, str] = field(default_factory=dict)
    label: str | None = None
    prototype: str = "Object.prototype"
    instance: str = ""
    result: str = ""
    element: str = "unknown"
    others: str = "undefined"
    unresolved: str = ""
    inert: bool = False
    callable: bool = False


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a catalogued object: its result, its label if it is a capability, and whether it may be absent."""

    result: str
    label: str | None = None
    absent: bool = False


class Catalogue:
    """All entries by path; ``digest`` identifies the data."""

    def __init__(self, documents: dict[str, str]) -> None:
        self.entries: dict[str, Entry] = {}
        self.globals: dict[str, Member] = {}
        self.interfaces = frozenset(tomllib.loads(documents["interfaces"])["names"].split())
        self.denied_data = DeniedData()
        self._functions: dict[str, Entry] = {}
        self.standard: set[tuple[str, str]] = set()
        self.functions_of_language: set[str] = set()
        self.constants: dict[tuple[str, str | None], Any] = {}  # the resolver's values, by result and label
        digest = hashlib.sha256()
        for name, text in sorted(documents.items()):
            digest.update(name.encode() + b"\0" + text.encode() + b"\0")
        self.digest = digest.hexdigest()
        for name in ENVIRONMENTS:
            for path, table in tomllib.loads(documents[name]).items():
                self._add(path, table)
            if name == "ecmascript":
                self.standard = {
                    (path, member)
                    for path, entry in self.entries.items()
                    for member, what in entry.members.items()
                    if what.result.startswith("@")
                }
                named = Counter(
                    what.result[1:]
                    for entry in self.entries.values()
                    for member, what in entry.members.items()
                    if member not in {"constructor", "globalThis"} and not what.absent
                )
                self.functions_of_language = {
                    path
                    for path, count in named.items()
                    if count == 1 and path in self.entries and self.entries[path].callable
                    if _OF_HOSTS.isdisjoint({path, path.partition(".")[0]})
                }
        self._expect_more_of_hosts(frozenset(tomllib.loads(documents["ecmascript"])))
        self.globals = self.entries["globalThis"].members
        # What a driver's objects have that runs nothing that it is given: their other methods may.
        self.harmless_of_drivers = frozenset[str]().union(
            *(_names(documents[name]) for name in ("playwright", "selenium", "surface/drivers"))
        ) - _judged(documents["surface/drivers"])
        # What a test takes apart is its page or its fixtures, which may have any name.
        self.entries["playwright.page.destructured"] = replace(
            self.entries["playwright.page"], path="playwright.page.destructured", others="data"
        )
        # Objects of applications and drivers: other code that is given one may give it back.
        self.lenders = frozenset(
            path
            for path, entry in self.entries.items()
            if entry.label is None and entry.members and path.partition(".")[0] in _LENDING
        )
        # The names in a window of namespaces, classes and interfaces, which are the same in every window.
        self.of_windows = {
            name: member
            for name, member in self.globals.items()
            if member.result.startswith("@") and (name[0].isupper() or name in _OF_WINDOWS)
        }
        for path in MAYBE_WINDOWS:
            self.entries[path].members.update({**self.of_windows, **self.entries[path].members})
        # Objects that all code shares, whose members a payload may replace.
        self.shared = frozenset(
            path
            for path, entry in self.entries.items()
            if entry.label is None and (entry.members or entry.callable)
        ).difference(self.lenders)
        self.element_sinks = self.entries["Element"].sinks
        self.unknown_sinks = {name: kind for name, kind in self.element_sinks.items() if kind != "text"}
        self.unknown_sinks |= WRITTEN

    def get(self, path: str) -> Entry:
        """Return the entry of a path; a function without a table of its own has an empty one."""
        entry = self.entries.get(path) or self._functions.get(path)
        if entry is None:
            if len(self._functions) >= _MAX_FUNCTIONS:
                self._functions.clear()  # a payload may invent paths
            entry = Entry(path, prototype="Function.prototype", callable=True)
            self._functions[path] = entry
        return entry

    def has_elements(self, path: str) -> bool:
        """Whether instances of a built-in class have elements of their own, as typed arrays and buffers do."""
        while path:
            entry = self.get(path)
            if entry.element != "unknown":
                return True
            path = entry.prototype
        return False

    def is_standard(self, path: str, name: str) -> bool:
        """Whether a member is an object or function that ECMA-262 defines: replacing it affects every program."""
        return (path, name) in self.standard and path != "console"

    def is_of_interface(self, path: str) -> bool:
        """Whether what no table has is an interface or a member of a prototype: a function, if it is read."""
        return ".prototype." in path or path.partition(".")[0] in self.interfaces

    def is_of_host(self, path: str) -> bool:
        """Whether a function is one of the host: other versions may give what this list of results lacks."""
        owner, _, name = path.rpartition(".")
        return not self.is_standard(owner or "globalThis", name)

    def switch_on(self, label: str, members: dict[str, str]) -> None:
        """Make members capabilities as a whole; their own members no longer matter."""
        for path, names in members.items():
            prefix = "" if path == "globalThis" else f"{path}."
            for name in names.split():
                whole = f"{prefix}{name}"
                self.entries[path].members[name] = Member(f"@{whole}", label)
                for other in [each for each in self.entries if each == whole or each.startswith(f"{whole}.")]:
                    del self.entries[other]

    def _add(self, path: str, table: dict[str, Any]) -> None:
        self.denied_data.add(path, table)
        old = self.entries.get(path)
        members: dict[str, Member] = dict(old.members) if old else {}
        sinks: dict[str, str] = dict(old.sinks) if old else {}
        prefix = "" if path == "globalThis" else f"{path}."
        for result, names in table.get("values", {}).items():
            members.update({name: Member(result) for name in names.split()})
        for result, names in table.get("methods", {}).items():
            for name in names.split():
                self._add_method(f"{prefix}{name}", result)
                members[name] = Member(f"@{prefix}{name}")
        for label, names in table.get("deny", {}).items():
            for name in names.split():
                members[name] = Member(f"@{prefix}{name}", label.replace("*", name))
        for name in table.get("absent", "").split():
            members[name] = replace(members[name], absent=True)
        for kind, names in table.get("sinks", {}).items():
            sinks.update(dict.fromkeys(names.split(), kind))
        plain = {} if old is None else {key: getattr(old, key) for key in _FIELDS}
        plain |= {key: table[key] for key in _FIELDS if key in table}
        # An interface object has a prototype for its instances, and is a function also where `new` throws.
        constructs = bool(plain.get("result") or plain.get("instance")) or "prototype" in members
        is_function = bool(old and old.callable) or constructs
        if is_function and "prototype" not in table and not (old and old.prototype != "Object.prototype"):
            plain["prototype"] = "Function.prototype"
        self.entries[path] = Entry(path, members, sinks, callable=is_function, **plain)

    def _expect_more_of_hosts(self, standard: frozenset[str]) -> None:
        """Make the members that no list has data: a host has more, but for functions and what ECMA-262 defines."""
        for path, entry in self.entries.items():
            constructs = not entry.callable or entry.instance or f"{path}.prototype" in self.entries
            if entry.others == "undefined" and constructs and path not in standard | _NAMES_ONLY:
                self.entries[path] = replace(entry, others="data")

    def _add_method(self, path: str, result: str) -> None:
        old = self.entries.get(path)
        if old is None:
            self.entries[path] = Entry(path, result=result, prototype="Function.prototype", callable=True)
        elif not old.result:
            self._add(path, {"result": result})


def _names(document: str) -> frozenset[str]:
    """Return the members that tables list as values and methods."""
    return frozenset(
        name
        for table in tomllib.loads(document).values()
        for kind in ("values", "methods")
        for result, names in table.get(kind, {}).items()
        if result != "unknown"
        for name in names.split()
    )


def _judged(document: str) -> frozenset[str]:
    """Return the members whose arguments are code or markup."""
    return frozenset(
        name
        for table in tomllib.loads(document).values()
        for kind in _OF_CODE
        for names in table.get(kind, {}).values()
        for name in names.split()
    )


@cache
def load_catalogue(switched: frozenset[str] = frozenset()) -> Catalogue:
    """Return the catalogue that ships with the package, and deny what the labels in ``switched`` deny, too."""
    folder = files(__package__)
    files_read = (*ENVIRONMENTS, "interfaces", "surface/drivers")
    catalogue = Catalogue({name: (folder / f"{name}.toml").read_text("utf-8") for name in files_read})
    if switched:
        groups = tomllib.loads((folder / "switched.toml").read_text("utf-8"))
        for label in sorted(switched & (groups.keys() - {"data"})):
            catalogue.switch_on(label, groups[label])
            catalogue.denied_data.add_paths(groups["data"].get(label, "").split())
    return catalogue
