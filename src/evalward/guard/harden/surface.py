"""What hardened output lets a payload reach of a host: the catalogue's objects with the allow lists laid over them.

The resolver reads the catalogue, where a host object's unlisted members are harmless (``others = "host"``). A running
program is given less: only what is listed. The files in ``catalogue/surface`` add what the resolver has no need to
know, in the catalogue's grammar, and with these keys:

- ``classes`` names the classes (``constructor.name``) whose instances are this object: callbacks get them untyped.
- ``texts.<n>`` lists methods whose argument at position ``n`` is evaluated in a page: a function or its text. ``route``
  says where else: ``main`` in Electron's main process, ``body`` in a page, as the body of a function.
- ``functions.<n>`` lists methods whose argument is evaluated in a page if it is a function, and else a selector.
- ``urls.<n>``, ``markup.<n>`` and ``bodies.<n>`` list methods whose argument is a URL, a document, or the answer to a
  request; ``requests.<n>`` those that change a request, ``locators.<n>`` those that find an element.
  ``sites.<n>`` those that the host itself sends a request to, ``states.<n>`` those that are a stored state,
  ``styles.<n>`` those that are a style sheet, or templates of markup, in options, ``globals.<n>`` those that are the
  name of a new global of pages.
- ``fields."a b"`` lists methods that get of their options (argument 0) these names alone; ``keys."a b"`` methods whose
  first argument is one of these words.
- ``files."n a b"`` lists methods whose arguments from position ``n`` on may be, or have in ``path``, names of files:
  they end in one of these words.
- ``callbacks."@a @b"`` lists methods that call the functions that they get with these objects.
- ``events`` lists methods that take the name of an event and a listener, ``writable`` members that a payload may
  replace; ``options`` is the position of settings whose ``webPreferences`` are checked.
- ``unless."member=value"`` lists methods that are denied on an object whose member has this value, in any case.
- ``compares`` says that the object's methods compare and print what they get: facades as they are, and functions, which
  they call with nothing. ``direct."A B"`` lists methods that get what a facade stands for, of an object of one of
  these classes.
- ``settings`` says that the members are ``webPreferences``: they may be set to what is safe, and ``removable`` ones
  deleted.
- ``prefix`` begins the names of values that are listed as a family.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from evalward.guard.catalogue import load_catalogue

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from evalward.guard.catalogue import Catalogue, Entry

_FILES: Final = ("drivers", "electron", "modules", "process")
_POSITIONED: Final = (
    *("texts", "functions", "urls", "markup", "bodies"),
    *("requests", "locators", "sites", "states", "styles", "globals"),
)
_KEYS: Final = frozenset(
    {"values", "methods", "deny", "result", "instance", "others", "fields", "compares"}
    | {"files", "keys", "direct"}
    | {"settings", "removable"}
    | {"route", "unless", "classes", "callbacks", "events", "writable", "options", "prefix", *_POSITIONED}
)


@dataclass(slots=True)
class HostObject:
    """One object that a facade stands for.

    ``values`` and ``methods`` give the result of each listed member, ``deny`` the construct of each denied one.
    ``positioned`` has, by kind (``texts``, ``urls``, …), the position of the argument for each method; ``fields`` the
    names of options for each method that has a list of them. ``hidden`` are the denied members that are data; with
    ``all_hidden`` all denied ones are, but ``open``.
    """

    path: str
    values: dict[str, str] = field(default_factory=dict)
    methods: dict[str, str] = field(default_factory=dict)
    deny: dict[str, str] = field(default_factory=dict)
    positioned: dict[str, dict[str, int]] = field(default_factory=dict)
    callbacks: dict[str, str] = field(default_factory=dict)
    events: frozenset[str] = frozenset()
    writable: frozenset[str] = frozenset()
    classes: frozenset[str] = frozenset()
    prefix: str = ""
    result: str = ""
    instance: str = ""
    others: str = "host"
    hidden: frozenset[str] = frozenset()
    all_hidden: bool = False
    open: frozenset[str] = frozenset()
    options: int | None = None
    route: str = ""
    unless: dict[str, str] = field(default_factory=dict)
    fields: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    compares: bool = False
    direct: dict[str, str] = field(default_factory=dict)
    settings: bool = False
    removable: frozenset[str] = frozenset()

    def lay_over(self, table: Mapping[str, Any]) -> None:
        """Add an allow list; raise ValueError if it lists what the catalogue denies, or has an unknown key."""
        if unknown := table.keys() - _KEYS:
            raise ValueError(f"{self.path}: unknown keys {sorted(unknown)}")
        self._list_members(table)
        self._list_arguments(table)
        self.events |= frozenset(table.get("events", "").split())
        self.writable |= frozenset(table.get("writable", "").split())
        self.prefix = table.get("prefix", self.prefix)
        self.classes |= frozenset(table.get("classes", "").split())
        self.result = table.get("result", self.result)
        self.instance = table.get("instance", self.instance)
        self.others = table.get("others", self.others)
        self.route = table.get("route", self.route)
        self.compares = table.get("compares", self.compares)
        self.settings = table.get("settings", self.settings)
        self.removable |= frozenset(table.get("removable", "").split())
        for condition, names in table.get("unless", {}).items():
            self.unless |= dict.fromkeys(names.split(), condition)
        for kind, lists in self._by_method():
            for listed, names in table.get(kind, {}).items():
                lists.update(dict.fromkeys(names.split(), listed))
        if "options" in table:
            self.options = int(table["options"])

    def _by_method(self) -> tuple[tuple[str, dict[str, str]], ...]:
        return ("fields", self.fields), ("files", self.files), ("keys", self.keys), ("direct", self.direct)

    def _list_members(self, table: Mapping[str, Any]) -> None:
        denied = set(self.deny)
        for kind, listed in (("values", self.values), ("methods", self.methods)):
            for result, names in table.get(kind, {}).items():
                if clash := denied.intersection(names.split()):
                    raise ValueError(f"{self.path}: {sorted(clash)} are denied by the catalogue")
                for name in names.split():
                    self._unlist(name)
                    listed[name] = result
        for label, names in table.get("deny", {}).items():
            for name in names.split():
                self._unlist(name)
                self.deny[name] = label

    def _unlist(self, name: str) -> None:
        self.values.pop(name, None)
        self.methods.pop(name, None)

    def _list_arguments(self, table: Mapping[str, Any]) -> None:
        for kind in _POSITIONED:
            for position, names in table.get(kind, {}).items():
                self.positioned.setdefault(kind, {}).update(dict.fromkeys(names.split(), int(position)))
        for types, names in table.get("callbacks", {}).items():
            self.callbacks.update(dict.fromkeys(names.split(), types))


def _from_entry(catalogue: Catalogue, entry: Entry) -> HostObject:
    """Return what the catalogue says of one object, without the members of its prototype."""
    path = entry.path
    made = HostObject(path, result=entry.result, instance=entry.instance, others=entry.others)
    for name, member in entry.members.items():
        if member.label is not None:
            made.deny[name] = member.label
            continue
        function = catalogue.entries.get(member.result[1:]) if member.result.startswith("@") else None
        if (
            function is not None
            and function.path == f"{path}.{name}"
            and function.callable
            and not (function.members or function.instance)
        ):
            made.methods[name] = function.result
        else:
            made.values[name] = member.result
    denied = (*made.deny, *(name for name in made.methods if catalogue.denied_data.is_data(f"{path}.{name}")))
    made.hidden = frozenset(name for name in denied if catalogue.denied_data.is_data(f"{path}.{name}"))
    made.all_hidden = catalogue.denied_data.is_data(f"{path}.(any)")
    return made


@cache
def host_objects() -> Mapping[str, HostObject]:
    """Return every object that a payload of `main` or `node` may be given a facade of, by its path."""
    catalogue = load_catalogue()
    folder = files("evalward.guard.catalogue") / "surface"
    tables: dict[str, list[Mapping[str, Any]]] = {}
    for name in _FILES:
        for path, table in tomllib.loads((folder / f"{name}.toml").read_text("utf-8")).items():
            tables.setdefault(path, []).append(table)
    found: dict[str, HostObject] = {}
    for path in sorted({*tables, *_host_paths(catalogue)}):
        entry = catalogue.entries.get(path)
        made = HostObject(path) if entry is None else _from_entry(catalogue, entry)
        for table in tables.get(path, ()):
            made.lay_over(table)
        if made.all_hidden:
            made.open = catalogue.denied_data.identity(path)
        found[path] = made
    return found


def _host_paths(catalogue: Catalogue) -> Iterable[str]:
    roots = ("electron", "playwright", "process")
    return (
        path
        for path, entry in catalogue.entries.items()
        if path.split(".")[0] in roots and (entry.members or entry.instance or not entry.callable)
    )
