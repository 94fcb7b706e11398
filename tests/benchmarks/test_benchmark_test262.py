"""The benchmark of test262 reads a checkout, runs its tests both ways, and sets aside what does what is denied."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from evalward.oracle.node import NodeOracle

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "test262.py"
TESTS = {
    "language/sum.js": "/*---\ndescription: a sum\n---*/\nassert.sameValue(1 + 1, 2);",
    "language/later.js": "/*---\nflags: [async]\n---*/\nPromise.resolve().then(() => $DONE(), $DONE);",
    "language/broken.js": "/*---\nnegative:\n  phase: parse\n  type: SyntaxError\n---*/\nlet let = 1;",
    "language/indirect.js": "/*---\ndescription: x\n---*/\nassert.sameValue((0, eval)('1 + 1'), 2);",
    "language/wrong.js": "/*---\ndescription: fails as it is\n---*/\nassert.sameValue(1, 2);",
    "language/module.js": "/*---\nflags: [module]\n---*/\nexport {};",
    "built-ins/length.js": "/*---\nincludes: [propertyHelper.js]\n---*/\n"
    "verifyProperty(Math.max, 'length', { value: 2 });",
}
ASSERT = """function assert(ok, message) { if (ok !== true) throw new Test262Error(message); }
assert.sameValue = function (a, b, message) { assert(Object.is(a, b), message); };
assert.notSameValue = function (a, b, message) { assert(!Object.is(a, b), message); };"""


@pytest.mark.skipif(NodeOracle.missing() is not None, reason="node is not installed")
def test_counts_by_part(tmp_path: Path) -> None:
    harness = tmp_path / "harness"
    harness.mkdir()
    (harness / "assert.js").write_text(ASSERT, encoding="utf-8")
    (harness / "sta.js").write_text(
        "function Test262Error(message) { this.message = message; }", encoding="utf-8"
    )
    for name, text in TESTS.items():
        (tmp_path / "test" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "test" / name).write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, SCRIPT, tmp_path, "--json"], capture_output=True, text=True, check=False
    )
    parts = json.loads(done.stdout)
    assert parts["language"]["failed"] == parts["built-ins"]["failed"] == [], done.stdout
    assert (parts["language"]["tests"], parts["language"]["pass_as_they_are"]) == (6, 4)
    assert (parts["language"]["pass"], parts["built-ins"]["pass"]) == (3, 1)
    assert list(parts["language"]["set_aside"].values()) == [1]
    assert done.returncode == 0, done.stderr


def test_says_when_there_is_no_suite(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, SCRIPT, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "not measured" in done.stderr
