"""A script for a page has the arguments that its driver passes, and never those of a module."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from evalward.guard.target import Shape, Target
from evalward.oracle.emission import emit

CASES: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "driver_arguments.yaml").read_text())
NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed")

RUN = """
const { text, given, names } = JSON.parse(require('fs').readFileSync(0, 'utf8'));
const { createContext, runInContext } = require('vm');
const realm = createContext({});
const show = (made) => console.log(JSON.stringify(made));
const fail = (error) => show(error.name === 'EvalwardDenied' ? 'denied' : String(error));
const inside = runInContext('JSON.parse', realm)(JSON.stringify(given));
try {
  const made = runInContext(`(function (${names}) { ${text} })`, realm)(...inside);
  Promise.resolve(made).then(show, fail);
} catch (error) { fail(error) }"""


def run(text: str, case: dict[str, Any]) -> object:
    """Return the result of a text within a driver's function."""
    assert NODE is not None
    body = text if case["shape"] == "async_body" else f"return {text}"
    asked = {"text": body, "given": case["given"], "names": ",".join(case.get("names", ()))}
    done = subprocess.run(
        [NODE, "-e", RUN], input=json.dumps(asked), capture_output=True, text=True, check=True, timeout=30
    )
    return json.loads(done.stdout)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_arguments_are_those_of_the_driver(case: dict[str, Any]) -> None:
    emission = emit(case["code"], Target.RENDERER, Shape(case["shape"]))
    assert emission.text is not None, emission.refused
    assert run(emission.text, case) == case["value"]


def test_without_a_function_there_are_none() -> None:
    assert NODE is not None
    emission = emit("typeof arguments", Target.RENDERER, Shape.EXPRESSION)
    script = f"console.log(require('vm').runInNewContext({json.dumps(emission.text)}))"
    done = subprocess.run([NODE, "-e", script], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout == "undefined\n"
