"""The statements that may give a script its value, next to the value that V8 gives."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from tree_sitter import Parser

from evalward.guard.lower.builder import Builder
from evalward.guard.lower.completions import completions
from evalward.guard.syntax.grammar import LANGUAGE

CASES: list[dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("completions.yaml").read_text(encoding="utf-8")
)
VALUES = """
const { runInNewContext } = require('vm');
const scripts = JSON.parse(require('fs').readFileSync(0, 'utf8'));
console.log(JSON.stringify(scripts.map((script) => String(runInNewContext(script)))));
"""


@pytest.mark.parametrize("case", CASES, ids=[case["script"] for case in CASES])
def test_only_these_statements_may_give_the_value(case: dict[str, Any]) -> None:
    script = case["script"]
    root = Parser(LANGUAGE).parse(script.encode()).root_node
    build = Builder(script.encode(), module=False, script=True)

    found = completions(build, root.named_children)

    assert found == {
        at for at in range(len(script)) if any(script.startswith(text, at) for text in case["may"])
    }


@pytest.mark.skipif(shutil.which("node") is None, reason="node is missing")
def test_v8_gives_the_value_of_one_of_them() -> None:
    scripts = json.dumps([case["script"] for case in CASES])

    run = subprocess.run(["node", "-e", VALUES], input=scripts, capture_output=True, text=True, check=True)

    assert json.loads(run.stdout) == [case["value"] for case in CASES]
    for case in CASES:
        assert case["value"] == "undefined" or any(text.startswith(case["value"]) for text in case["may"])
