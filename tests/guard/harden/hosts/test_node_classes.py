"""Programs that use Node's classes without a capability give the same in Node, hardened or not."""

from __future__ import annotations

import json
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
import yaml

from evalward.guard.target import Shape, Target
from evalward.oracle.emission import emit

CASES: list[dict[str, str]] = yaml.safe_load((Path(__file__).parent / "node_classes.yaml").read_text("utf-8"))
NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed")

RUN = """
const run = async (text) => {
  try { return JSON.stringify(await (0, eval)(text)) } catch (error) { return `${error.name}: ${error.message}` }
};
(async () => {
  const found = [];
  for (const text of JSON.parse(require('fs').readFileSync(0, 'utf8'))) found.push(await run(text));
  console.log(JSON.stringify(found));
})()"""


@cache
def results() -> dict[str, tuple[str, str]]:
    """Return the result of each program and of its hardened form."""
    texts: list[str] = []
    for case in CASES:
        emission = emit(case["code"], Target.MAIN, Shape.SCRIPT)
        assert emission.text is not None, emission.refused
        # Evaluated once more, because scripts of one realm share their `let` and `const`.
        texts += [f"eval({json.dumps(case['code'])})", emission.text]
    assert NODE is not None
    done = subprocess.run(
        [NODE, "-e", RUN], input=json.dumps(texts), capture_output=True, text=True, check=True, timeout=60
    )
    found = json.loads(done.stdout)
    return {case["id"]: (found[2 * i], found[2 * i + 1]) for i, case in enumerate(CASES)}


@pytest.mark.parametrize("name", [case["id"] for case in CASES])
def test_a_class_of_node_does_the_same_hardened(name: str) -> None:
    original, hardened = results()[name]
    assert hardened == original
    assert "Error: " not in original
