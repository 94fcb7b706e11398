"""The traps as one script, with the host objects that payloads of each target expect (``hosts.json``)."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from evalward.guard.catalogue import load_catalogue
from evalward.guard.target import Target

if TYPE_CHECKING:
    from collections.abc import Mapping

# The order matters: each part uses definitions of those before it.
_PARTS = (
    "log.js",
    "observe.js",
    "intrinsics.js",
    "hosts.js",
    "data.js",
    "platform.js",
    "web.js",
    "drive.js",
    "run.js",
)

_NOT_IN_A_SANDBOX = frozenset(
    {"Buffer", "TextDecoder", "TextEncoder", "atob", "btoa", "structuredClone", "WebAssembly"}
)

SAMPLE_ARGUMENT = json.dumps(
    {
        "x": 20, "y": 2, "name": "Ada", "id": "a1", "key": "name", "path": "a.b", "text": "hello",
        "url": "/api", "items": [1, 2, 3], "a": {"b": 1},
        "rows": [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}],
    }
)  # fmt: skip
"""The default ``arg``: ordinary JSON with the names that snippets use."""


def source(part: str) -> str:
    """Return the text of one of this package's JavaScript files."""
    return files(__package__).joinpath("js", part).read_text(encoding="utf-8")


@cache
def traps_script(*, page: bool = False) -> str:
    """Return an expression: a function of (emit, config) that installs the traps and returns the harness.

    ``page`` adds those for a real document.
    """
    parts = "\n".join(source(part) for part in (*_PARTS, *(("document.js",) if page else ())))
    start = "install();\ntrapDocument();\nremember();" if page else "install();\nremember();"
    return (
        "(function (emit, config) {\n'use strict';\nconst G = globalThis;\n"
        f"{parts}\n{start}\nreturn {{ settle, fail, finish, pending, evaluate: globalEval }};\n}})"
    )


@cache
def _hosts() -> dict[str, Any]:
    hosts: dict[str, Any] = json.loads(files(__package__).joinpath("hosts.json").read_text(encoding="utf-8"))
    return hosts


@cache
def _denied_modules() -> list[tuple[str, str]]:
    """Return the modules of Electron that the catalogue denies as a whole, with their labels.

    No test machine has Electron. A call of such a module, or of one of its members, on a stand-in is the proof.
    """
    members = load_catalogue().entries["electron"].members
    return [(name, member.label) for name, member in members.items() if member.label is not None]


@dataclass(frozen=True, slots=True)
class Driving:
    """How a payload and its rewrite run, so that text and the function that replaces it can be compared.

    ``names`` become stand-ins where the realm lacks them, and those ``called`` where it has an element of that id; the
    stand-ins for ``elements`` are elements. ``events`` are fired at every element at the end. A function is called with
    ``argument``, a text of JSON, or with an element; without either with what its target hands over.
    """

    names: tuple[str, ...] = ()
    called: tuple[str, ...] = ()
    elements: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    argument: str | None = None
    element: bool = False


@dataclass(frozen=True, slots=True)
class Data:
    """The data for a payload: ordinary JSON, or an attacker's with ``word`` as every value.

    With ``as_list`` the attacker's JSON holds lists of the word instead. With ``observe`` the run ends with a record
    that another run of the program can be compared with; its clock and its random numbers are counted. ``absent`` are
    names that the realm then lacks. ``driving`` is for a run that is compared with that of a rewrite.
    """

    word: str | None = None
    as_list: bool = False
    fixtures: bool = False
    """Whether a payload that is a function gets host objects as members of a plain one, as from a test runner."""
    observe: bool = False
    absent: tuple[str, ...] = ()
    driving: Driving | None = None


ORDINARY = Data()
OBSERVED = Data(observe=True)

_TAKES_FIXTURES = re.compile(
    r"\s*\(?\s*(?:async\s*)?(?:function\b[^(]*)?\(\s*\{[^}]*\b(?:page|context|browser)\b[^}]*\}"
)
_DECLARED = re.compile(r"\b(?:var|function)\s+([A-Za-z_$][\w$]*)")


def observed(code: str, target: Target) -> Data:
    """Return the circumstances in which ``code`` and its P' are compared.

    Traps that show what an escape reaches stand under names that the real host may lack: a sandbox has none of them,
    Electron's main process no page, and a program that declares a name runs where it is free. A function that takes
    host objects by a pattern gets them as from a test runner.
    """
    hosts = _hosts()["targets"][target.value]
    trapped = {"process", *hosts["stubs"], *(name for name, _ in hosts["recorders"])}
    absent = trapped & set(_DECLARED.findall(code))
    if target is Target.MAIN:
        absent |= {"page"}
    elif target is Target.SANDBOX:
        absent = trapped | _NOT_IN_A_SANDBOX
    fixtures = target is Target.NODE and _TAKES_FIXTURES.match(code) is not None
    return Data(observe=True, fixtures=fixtures, absent=tuple(sorted(absent)))


def attacker_data() -> tuple[Data, ...]:
    """Return the attacker's data to try for an unresolved key."""
    return tuple(Data(word, as_list) for as_list in (False, True) for word in _hosts()["words"])


def trap_config(
    target: Target, *, data: Data = ORDINARY, bindings: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the configuration of the traps for ``target``; ``bindings`` as in policy."""
    hosts, driving = _hosts(), data.driving
    bound = {"arg": "json"} | dict(bindings or {})
    return {
        **{key: value for key, value in hosts.items() if key != "targets"},
        "deniedModules": _denied_modules(),
        "first": None,
        **hosts["targets"][target.value],
        "platform": True,
        "fixtures": data.fixtures,
        "observe": data.observe,
        "absent": data.absent,
        "bindings": sorted(bound.items()),
        "arg": (driving and driving.argument) or SAMPLE_ARGUMENT,
        "driving": driving and asdict(driving),
        "word": data.word,
        "words": [data.word, data.word] if data.as_list else None,
    }
