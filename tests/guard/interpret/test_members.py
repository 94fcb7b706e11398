"""Members of built-in objects: what an engine has and gives, the guard admits, and no member counts as nothing."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from folded import ENCODE, THROWS, admits, fold, run

from evalward.guard.domain.limit import AnalysisLimitError
from evalward.sandbox import Sandbox

DATA: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "members.yaml").read_text(encoding="utf-8"))
AT_ONCE = 200
SPELL = (
    "const spell = key => typeof key === 'symbol' ? key.description.startsWith('Symbol.') ? `[${key.description}]` : ''"
    " : /^[A-Za-z]\\w*$/.test(key) ? '.' + key : `['${key}']`;"
)
# The members of an object and of its prototypes, spelt as they are read.
MEMBERS = (
    "(() => {"
    + SPELL
    + "return JSON.stringify(Object.fromEntries(Object.entries(INSTANCES).map(([name, [text]]) => {"
    " let found = []; let all; try { all = (0, eval)(`(${text})`); } catch { return [name, found]; }"
    " for (let o = all; o; o = Object.getPrototypeOf(o)) found.push(...Reflect.ownKeys(o).map(spell));"
    " return [name, found]; }))); })()"
)
STATICS = (
    "(() => {" + SPELL + "return JSON.stringify(Object.fromEntries(Object.getOwnPropertyNames(globalThis)"
    ".filter(name => /^[A-Z]/.test(name) && typeof globalThis[name] === 'function' || "
    "['Math', 'JSON', 'Reflect', 'Atomics'].includes(name))"
    ".map(name => [name, Reflect.ownKeys(globalThis[name]).map(spell)]))); })()"
)
LEFT_OUT = (
    "__",
    "caller",
    "arguments",
    "callee",
    "constructor",
    "prepareStackTrace",
    "prototype",
    "reject",
    "raw",
)
NOT_WALKED = {"Function", "Proxy", "WebAssembly", "InternalError"}
IN_NODE = ENCODE + (
    "const vm = require('node:vm'); process.on('unhandledRejection', () => {}); "
    "process.on('uncaughtException', () => {});"
    "const given = JSON.parse(require('node:fs').readFileSync(0, 'utf8'));"
    "const answer = text => { const realm = vm.createContext({ structuredClone });"
    " try { return JSON.parse(vm.runInContext(`${process.argv[1]};JSON.stringify(attempt(() => (${text})))`, realm,"
    " { timeout: 1000 })); } catch { return 'throws'; } };"
    "require('node:fs').writeSync(1, JSON.stringify(given.map(answer))); process.exit();"
)


class Engine:
    """An engine that evaluates expressions."""

    def ask(self, expression: str) -> Any:
        """Return the value of an expression that gives JSON."""
        raise NotImplementedError

    def run(self, expressions: list[str]) -> list[Any]:
        """Return what ``folded.run`` does."""
        raise NotImplementedError


class Node(Engine):
    """Node, with a realm for each expression."""

    def __init__(self) -> None:
        node = shutil.which("node")
        if node is None:
            pytest.skip("node is not installed")
        self.path = node

    def ask(self, expression: str) -> Any:
        inside = f"process.stdout.write(require('node:vm').runInNewContext({json.dumps(expression)}))"
        shown = subprocess.run(
            [self.path, "-e", inside], capture_output=True, check=True, text=True, timeout=60
        )
        return json.loads(shown.stdout)

    def run(self, expressions: list[str]) -> list[Any]:
        given = json.dumps(expressions)
        command = [self.path, "-e", IN_NODE, ENCODE]
        shown = subprocess.run(command, input=given, capture_output=True, check=True, text=True, timeout=300)
        answers: list[Any] = json.loads(shown.stdout)
        return answers


class QuickJs(Engine):
    """The sandbox, with a realm for each batch."""

    def __init__(self) -> None:
        self.sandbox = Sandbox()

    def ask(self, expression: str) -> Any:
        (answer,) = run(self.sandbox, [expression])
        return json.loads(answer[1])

    def run(self, expressions: list[str]) -> list[Any]:
        return run(self.sandbox, expressions)


def expressions(engine: Engine) -> list[str]:
    """Return every expression for the members that an engine has."""
    made: list[str] = []
    members = engine.ask(MEMBERS.replace("INSTANCES", json.dumps(DATA["instances"])))
    for name, (text, arguments) in DATA["instances"].items():
        for template in DATA["receivers"]:
            receiver = (
                template.replace("X", text).replace("C", name).replace("A", arguments)
                if template != "X"
                else text
            )
            made += [
                asked.replace("R", receiver).replace("M", member)
                for member in dict.fromkeys(members[name])
                if member and not any(part in member for part in LEFT_OUT)
                for asked in DATA["asked"]
            ]
    for name, listed in engine.ask(STATICS).items():
        made += [
            asked.replace("G.M", f"{name}{member}")
            for member in listed
            if member and name not in NOT_WALKED and not any(part in member for part in LEFT_OUT)
            for asked in DATA["static"]
        ]
    made += [f"(x=>{asked})({one})" for one in DATA["objects"] for asked in DATA["listed"]]
    return list(dict.fromkeys(made))


def wrong(engine: Engine, texts: list[str]) -> list[str]:
    """Return the expressions whose value the guard does not admit."""
    found = []
    for first in range(0, len(texts), AT_ONCE):
        some = texts[first : first + AT_ONCE]
        for text, actual in zip(some, engine.run(some), strict=True):
            if actual == THROWS:
                continue
            try:
                (value,) = fold([text])
            except AnalysisLimitError:
                continue
            if not admits(value, actual):
                found.append(f"{text} is {actual}, not {value}")
    return found


@pytest.mark.parametrize("engine", [Node, QuickJs])
def test_what_a_member_gives_is_admitted(engine: type[Engine]) -> None:
    made = engine()
    every = expressions(made)
    assert len(every) > 10_000
    assert wrong(made, random.Random(3).sample(every, 600)) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("engine", [Node, QuickJs])
def test_what_any_member_gives_is_admitted(engine: type[Engine]) -> None:
    made = engine()
    assert wrong(made, expressions(made)) == []
