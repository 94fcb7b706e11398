"""The audit of intrinsics lists what the engines have: Node, Chromium and the sandbox's QuickJS."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

import pytest
import yaml
from chromium import executable, version

from evalward.guard.constructs.labels import CONSTRUCT_LABELS
from evalward.guard.harden.intrinsics import audit, names_module
from evalward.guard.target import Shape
from evalward.oracle.cdp import Connection
from evalward.sandbox.evaluate import evaluate

_HERE: Final = Path(__file__).parent
_RUNTIME: Final = _HERE.parents[2] / "runtime" / "src" / "intrinsics"
_WALK: Final = (_HERE / "intrinsics_walk.js").read_text(encoding="utf-8")
_HOSTS: Final[dict[str, list[str]]] = yaml.safe_load(
    (_HERE / "host_globals.yaml").read_text(encoding="utf-8")
)
_EVERYWHERE: Final = re.compile(r"prototype\.constructor$")
_IN_NODE: Final = (
    "const vm = require('node:vm'); const { readFileSync } = require('node:fs');"
    "process.stdout.write(vm.runInNewContext('(' + readFileSync(0, 'utf8') + ')()'))"
)
_LANGUAGE_GLOBALS: Final = (
    "Object.getOwnPropertyNames(globalThis).filter((name) => {"
    " const { value, get, enumerable } = Object.getOwnPropertyDescriptor(globalThis, name);"
    " if (name === 'Error') return true; if (get || enumerable) return false;"
    " if (typeof value !== 'function') return true;"
    " for (let o = value.prototype; o; o = Object.getPrototypeOf(o)) if (Object.keys(o).length) return false;"
    " return Object.keys(value).length === 0; })"
)


def _in_node() -> list[str]:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    run = subprocess.run(
        [node, "-e", _IN_NODE], input=_WALK, capture_output=True, check=True, text=True, timeout=20
    )
    lines: list[str] = json.loads(run.stdout)
    return lines


def _in_quickjs() -> list[str]:
    run = evaluate(f"({_WALK})()".encode(), shape=Shape.EXPRESSION)
    assert run.result is not None
    lines: list[str] = json.loads(json.loads(run.result))
    return lines


def _in_chromium() -> list[str]:
    browser = executable()
    if browser is None:
        pytest.skip("chromium is not installed")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        flags = ["--headless=new", "--remote-debugging-pipe", "--disable-gpu", "--no-first-run"]
        if os.geteuid() == 0:
            flags.append("--no-sandbox")  # Chromium's own sandbox does not start as root
        connection = Connection([browser, *flags, f"--user-data-dir={profile}"], lambda _message: None)
        try:
            target = connection.call("Target.createTarget", {"url": "about:blank"}, timeout=30)["targetId"]
            attach = {"targetId": target, "flatten": True}
            session = connection.call("Target.attachToTarget", attach)["sessionId"]
            question = {"expression": f"({_WALK})({_LANGUAGE_GLOBALS})"}
            answer = connection.call("Runtime.evaluate", question, session)
        finally:
            connection.close()
    lines: list[str] = json.loads(answer["result"]["value"])
    return lines


def _newer_than_the_review() -> bool:
    review = json.loads((_RUNTIME.parents[1] / "webidl" / "review.json").read_text(encoding="utf-8"))
    path = executable()
    return path is not None and version(path) > review["chromium"]


def _entries(lines: list[str], engine: str) -> dict[tuple[str, str], str]:
    """Return kind by holder and name, without the host's globals and what each function has."""
    found = dict[tuple[str, str], str]()
    for line in lines:
        kind, _, path = line.partition(" ")
        accessor = re.match("(?:get|set) ", path)
        path = path[4:] if accessor else path
        if path.strip("[").partition(".")[0].rstrip("]") in _HOSTS[engine] or path.startswith("["):
            continue
        if not accessor and _EVERYWHERE.search(path):
            continue
        holder, _, name = path.rpartition(".")
        found[holder, f"{accessor[0] if accessor else ''}{name}"] = kind
    return found


@pytest.mark.parametrize(
    ("engine", "lines"), [("node", _in_node), ("quickjs", _in_quickjs), ("chromium", _in_chromium)]
)
def test_every_intrinsic_of_the_engine_is_listed(engine: str, lines: object) -> None:
    assert callable(lines)
    found = _entries(lines(), engine)
    listed = audit()

    assert len(found) > 700
    unknown = sorted(" ".join(key) for key in found if key not in listed)
    if unknown and engine == "chromium" and _newer_than_the_review():
        pytest.xfail(f"a newer Chromium than the reviewed one; to review: {', '.join(unknown)}")
    assert unknown == []
    functions = {key for key, kind in found.items() if kind in {"function", "alias"}}
    assert sorted(" ".join(key) for key in functions if listed[key].status == "data") == []


def test_every_handler_and_construct_exists() -> None:
    handlers = {entry.by for entry in audit().values() if entry.status == "mediated"} - {"global"}
    denials = {entry.by for entry in audit().values() if entry.status == "denied"}

    assert {name for name in handlers if not (_RUNTIME / f"{name.partition('.')[0]}.js").exists()} == set()
    assert denials <= CONSTRUCT_LABELS


def test_every_entry_has_a_reason() -> None:
    without = [
        entry for entry in audit().values() if entry.status not in {"objects", "data"} and not entry.reason
    ]

    assert without == []


def test_the_names_of_the_run_time_are_those_of_the_audit() -> None:
    assert (_RUNTIME / "names.js").read_text(encoding="utf-8") == names_module()
