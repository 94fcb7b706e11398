"""The host objects that a target's run-time stands in for, compiled from the catalogue into compact JSON.

The same data that the resolver reads, with the allow lists of ``surface`` laid over them. The run-time
(``runtime/src/hosts``) holds no name of a host's API.

The JSON object has these members; a list of names is one string, separated by spaces:

- ``o``: the objects by path. Each has ``v`` and ``m`` (result: names of values and of methods), ``d`` (construct:
  names), ``t`` ``f`` ``u`` ``k`` ``b`` ``g`` ``o`` (position of the argument: names of methods that take a text, a
  function, a URL, a document, an answer, a request or a locator), ``A`` ``B`` ``G`` ``H`` (the same for a site, a
  state, a style sheet and the name of a new global), ``F`` (position and endings of files: names of methods), ``K``
  (words: names of methods), ``h`` (names of options: names of methods), ``c`` (types: names of methods that call back
  with them), ``e`` (names of methods that take an event), ``y`` (names of members that may be replaced), ``a`` (the
  start of further names of values), ``n`` (names of classes), ``r`` ``i`` (result of a call, type of an instance),
  ``x`` (``host``, ``deny`` or a construct: what other members are), ``z`` (they are data), ``p`` (what they get is
  compared; ``P`` names methods that get what a facade stands for), ``S`` (settings of a page, of which ``D`` may be
  deleted), ``s`` (names of denied members that hold data; ``*`` with ``q``, the exceptions), ``w`` (position of a
  window's options), ``l`` (the route of texts that it takes, if they are not for a page) and ``j`` (``member=value``
  of the receiver: names of methods that are then denied).
- ``g``: object path by free name, ``z``: construct by denied free name, ``h``: harmless globals,
  ``i``: those with iterators of their own, by the method that makes one, ``s``: those that are instances, by their
  class, ``u``: those whose prototype has no tag,
  ``e`` and ``f``: object paths that listeners of drivers and of Electron get, by event.
- ``p``: what the settings of a page must be (``webPreferences``): ``0`` and ``1`` are booleans, ``-`` is anything.
"""

from __future__ import annotations

import json
import tomllib
from functools import cache, lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from evalward.guard.binding import DRIVER_GLOBALS, ELECTRON_GLOBALS, USUAL_BINDINGS, BindingKind
from evalward.guard.builtins.electron_apis import HARMLESS_SETTINGS, SAFE_SETTINGS
from evalward.guard.catalogue import load_catalogue
from evalward.guard.domain.atoms import TRUE
from evalward.guard.harden.surface import HostObject, host_objects
from evalward.guard.target import Target

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_HOSTED: Final = frozenset({Target.MAIN, Target.NODE})
_EITHER: Final = "electron|playwright.electronApp"
_FIRST: Final = {Target.MAIN: "electron", Target.NODE: "playwright.page|playwright.fixtures"}
_DATA_KINDS: Final = frozenset({BindingKind.JSON, BindingKind.ELEMENT, "global", "undefined"})
_EXTRA: Final = ("console", "fetch", "fetch.response")
_SHORT: Final = {
    "texts": "t",
    "functions": "f",
    "urls": "u",
    "markup": "k",
    "bodies": "b",
    "requests": "g",
    "locators": "o",
    "sites": "A",
    "states": "B",
    "styles": "G",
    "globals": "H",
}


@lru_cache(maxsize=64)
def compiled_hosts(
    target: Target, env_names: frozenset[str] = frozenset(), process_reads: frozenset[str] = frozenset()
) -> str:
    """Return the JSON text for ``target``; the policy may add names of variables and members of `process`."""
    if target not in _HOSTED:
        tables = {"console": _table(_extra("console"))}
        alone = {"o": tables, "z": _joined(_node()["denied"])}
        return json.dumps(alone, separators=(",", ":"), sort_keys=True)
    names = {"console": "console", "fetch": "fetch", **dict(_names(target))}
    objects = _reachable([*names.values(), _FIRST[target], *_bindable(target), *_classed()])
    tables = {path: _table(each) for path, each in objects.items()} | {
        path: _table(_extra(path)) for path in _EXTRA
    }
    for path, more in (("process", process_reads), ("process.env", env_names)):
        if more:
            held = tables[path].setdefault("v", {})
            held[""] = " ".join(sorted({*held.get("", "").split(), *more}))
    node = _node()
    drivers = {types: names for types, names in node["events"].items() if isinstance(names, str)}
    return json.dumps(
        {
            "o": tables,
            "g": names,
            "z": _joined(node["denied"]),
            "h": node["harmless"]["names"],
            "i": node["harmless"]["iterators"],
            "s": node["harmless"]["singletons"],
            "u": node["harmless"]["untagged"],
            "e": _events(drivers, objects),
            "f": _events(node["events"]["electron"], objects),
            "p": {name: "1" if safe is TRUE else "0" for name, safe in SAFE_SETTINGS.items()}
            | dict.fromkeys(HARMLESS_SETTINGS, "-"),
        },
        separators=(",", ":"),
        sort_keys=True,
    )


def bound_objects(target: Target, bindings: Mapping[str, str]) -> dict[str, str]:
    """Return the host object that each bound name holds, for names that a sink, policy or request binds."""
    return {name: path for name, kind in bindings.items() if (path := object_of(kind)) and target in _HOSTED}


def parameter_objects(target: Target, kinds: Iterable[str] | None) -> list[str]:
    """Return the host object of each parameter of a called payload, "" for data; ``kinds`` are those of a sink."""
    if target not in _HOSTED:
        return []
    return [_FIRST[target]] if kinds is None else [object_of(kind) for kind in kinds]


def object_of(kind: str) -> str:
    """Return the path of the object that a value of a kind of binding is a facade of, "" for data."""
    paths = [each for each in kind.split("|") if each not in _DATA_KINDS]
    return "|".join(_EITHER if each == BindingKind.ELECTRON_APP else each for each in paths)


def _names(target: Target) -> Iterable[tuple[str, str]]:
    """Return the free names of a target's realm that mean host objects."""
    yield "process", "process"
    for name, kind in USUAL_BINDINGS[target].items():
        if path := object_of(kind):
            yield name, path
    if target is Target.MAIN:
        yield from ((name, result) for name, result in _modules())
        yield from ELECTRON_GLOBALS.items()
    else:
        yield from DRIVER_GLOBALS.items()
    yield from _node()["names"][target.value].items()


def _modules() -> Iterable[tuple[str, str]]:
    electron = host_objects()["electron"]
    return ((name, result.lstrip("@")) for name, result in electron.values.items() if name != "default")


def _bindable(target: Target) -> Iterable[str]:
    kinds = (object_of(kind.value) for kind in BindingKind)
    prefix = "electron" if target is Target.NODE else ""
    return (path for path in kinds if path and not (prefix and path.startswith(prefix)))


def _classed() -> Iterable[str]:
    return (
        path for path, each in host_objects().items() if each.classes and not path.startswith("electron.")
    )


@cache
def _node() -> dict[str, Any]:
    folder = files("evalward.guard.catalogue") / "surface"
    return tomllib.loads((folder / "node.toml").read_text("utf-8"))


def _extra(path: str) -> HostObject:
    """Return an object that only the run-time knows, of those that every realm has."""
    made = HostObject(path)
    made.lay_over(_node()[path])
    return made


def _events(groups: Mapping[str, str], objects: Mapping[str, HostObject]) -> dict[str, str]:
    return {
        name: types
        for types, names in groups.items()
        if objects.keys() >= set(types.split())
        for name in names.split()
    }


def _joined(table: Mapping[str, str]) -> dict[str, str]:
    return {name: label for label, names in table.items() for name in names.split()}


def _reachable(roots: Iterable[str]) -> dict[str, HostObject]:
    """Return the objects that can be reached from ``roots``; ``a|b`` is an object with the members of both."""
    known, found, pending = host_objects(), dict[str, HostObject](), list(roots)
    while pending:
        path = pending.pop()
        if path in found or not all(part in known for part in path.split("|")):
            continue
        found[path] = each = _merged(path)
        results = (
            *each.values.values(),
            *each.methods.values(),
            *each.callbacks.values(),
            each.result,
            f"new:{each.instance}",
        )
        pending.extend(_object_in(part) for result in results for part in result.split())
    events = (types for group in (_node()["events"], _node()["events"]["electron"]) for types in group)
    missing = {part for types in events for part in types.split()} & known.keys() - found.keys()
    if missing and any(path.startswith("electron") for path in found):
        return found | {path: known[path] for path in missing}
    return found


def _merged(path: str) -> HostObject:
    known = host_objects()
    first, *rest = (known[part] for part in path.split("|"))
    if not rest:
        return first
    made = HostObject(
        path, others=first.others, route=next((each.route for each in (first, *rest) if each.route), "")
    )
    for each in (first, *rest):
        made.values |= each.values
        made.methods |= each.methods
        made.deny |= each.deny
        made.callbacks |= each.callbacks
        made.events |= each.events
        made.fields |= each.fields
        made.files |= each.files
        made.keys |= each.keys
        for kind, names in each.positioned.items():
            made.positioned.setdefault(kind, {}).update(names)
    for name in made.deny:
        made.values.pop(name, None)
        made.methods.pop(name, None)
    return made


def _object_in(result: str) -> str:
    return result.rpartition(":")[2].lstrip("@") if "@" in result or "new:" in result else ""


def _short(result: str) -> str:
    """Return a result as the run-time reads it: a path behind ``promise:``, ``array:`` or ``map:``, or "" for data."""
    path = _object_in(result)
    if path not in host_objects() and path not in _EXTRA:
        return ""
    kinds = [part for part in result.replace("new:", "").split(":")[:-1] if part]
    return "".join(f"{'array' if kind == 'collection' else kind}:" for kind in kinds) + path


def _grouped(names: Mapping[str, str]) -> dict[str, str]:
    groups: dict[str, list[str]] = {}
    for name, group in names.items():
        groups.setdefault(group, []).append(name)
    return {group: " ".join(sorted(listed)) for group, listed in sorted(groups.items())}


def _table(each: HostObject) -> dict[str, Any]:
    made: dict[str, Any] = {
        "v": _grouped({name: _short(result) for name, result in each.values.items()}),
        "m": _grouped({name: _short(result) for name, result in each.methods.items()}),
        "d": _grouped(each.deny),
        "c": _grouped({name: types.replace("@", "") for name, types in each.callbacks.items()}),
        "e": " ".join(sorted(each.events)),
        "y": " ".join(sorted(each.writable)),
        "a": each.prefix,
        "n": " ".join(sorted(each.classes)),
        "r": _short(each.result) or ("-" if each.result else ""),
        "i": _short(f"new:{each.instance}" if each.instance else ""),
        "x": _others(each),
        "z": "1" if each.others == "data" else "",
        "D": " ".join(sorted(each.removable)),
        "S": "1" if each.settings else "",
        "p": "1" if each.compares else "",
        "P": _grouped(each.direct),
        "s": "*" if each.all_hidden else " ".join(sorted(each.hidden)),
        "q": " ".join(sorted(each.open)),
        "l": each.route,
        "j": _grouped(each.unless),
        "h": _grouped(each.fields),
        "F": _grouped(each.files),
        "K": _grouped(each.keys),
        "w": "" if each.options is None else str(each.options),
    }
    for kind, short in _SHORT.items():
        made[short] = _grouped({name: str(at) for name, at in each.positioned.get(kind, {}).items()})
    return {key: value for key, value in made.items() if value}


def _others(each: HostObject) -> str:
    """Return what a facade does with other members: a construct to deny with, ``deny`` for one by name, "" for data."""
    if each.others.startswith("deny:"):
        return each.others.removeprefix("deny:")
    return "deny" if each.others == "deny" else ""


@cache
def text_positions() -> Mapping[str, int]:
    """Return the methods whose argument travels to a page as text, with the argument's position."""
    return _positions("texts")


@cache
def function_positions() -> Mapping[str, int]:
    """Return the methods whose argument travels if it is a function, with the argument's position."""
    return _positions("functions")


def _positions(kind: str) -> Mapping[str, int]:
    return {
        name: at for each in host_objects().values() for name, at in each.positioned.get(kind, {}).items()
    }


def labels(target: Target) -> frozenset[str]:
    """Return the constructs that the compiled tables of ``target`` deny with; each is known to the guard."""
    data = json.loads(compiled_hosts(target))
    found = set(data["z"].values())
    for table in data.get("o", {}).values():
        found |= (
            set(table.get("d", {})) | {table["x"]}
            if table.get("x") not in {None, "deny"}
            else set(table.get("d", {}))
        )
    return frozenset(found)


def catalogue_digest() -> str:
    """Return the digest of the catalogue that the tables are compiled from."""
    return load_catalogue().digest
