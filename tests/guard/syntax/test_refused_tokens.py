"""What the grammar takes and no engine does is refused, at the token; the twins, which engines take, are not."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any

import pytest
from guard_cases import cases, over, verdict

from evalward.codes import Code

NODE = shutil.which("node")
_ASK = """
const vm = require('vm');
const texts = JSON.parse(require('fs').readFileSync(0, 'utf8'));
console.log(JSON.stringify(texts.map((text) => { try { new vm.Script(text); return true; } catch { return false; } })));
"""


@over("syntax/refused_tokens")
def test_it_is_refused_at_the_token(case: dict[str, Any]) -> None:
    found = verdict(case["code"], shape="script")

    assert found.code is Code.EVAL_SYNTAX_ERROR
    assert found.location is not None
    assert case["at"] == found.location.start


@over("syntax/refused_tokens")
def test_in_whatever_shape_it_is_asked_about(case: dict[str, Any]) -> None:
    for shape in (None, "async_body", "module"):
        assert verdict(case["code"], shape=shape).code in {
            Code.EVAL_SYNTAX_ERROR,
            Code.EVAL_BLOCKED_CONSTRUCT,
        }


@over("syntax/refused_tokens")
def test_its_twin_is_no_syntax_error(case: dict[str, Any]) -> None:
    assert verdict(case["twin"], shape="script").code is not Code.EVAL_SYNTAX_ERROR


@pytest.mark.skipif(NODE is None, reason="needs node")
def test_v8_says_so_too() -> None:
    assert NODE is not None
    rows = cases("syntax/refused_tokens")
    texts = [text for row in rows for text in (row["code"], row["twin"])]
    done = subprocess.run(
        [NODE, "-e", _ASK], input=json.dumps(texts), capture_output=True, text=True, check=True, timeout=60
    )
    assert json.loads(done.stdout) == [False, True] * len(rows)


PLACES = [
    ("let a = 1;\nlet b = ;\nlet c = 2;", 2, 9),
    ("foo(\n  1,\n  2\nbar()", 4, 1),
    ("if (x) {\n  y(;\n}", 2, 5),
    ("a b c", 1, 3),
    ("x = 1 +* 2", 1, 8),
    ("function f( { }", 1, 16),
    ("let s = 'abc\nlet t = 1", 1, 9),
    ("x = 'é' + ;", 1, 11),
    ("(function() {\n  return 1;\n", 3, 1),
    ("let type: string = 1", 1, 9),
    ("x => {\n  let y = 1\n  let z = y +\n}", 4, 1),
    ("let ok = 1;\n" * 3_000 + "let bad = = 2;\n" + "let ok = 1;\n" * 300, 3_001, 11),
]


@pytest.mark.parametrize("shape", ["script", "async_body"])
@pytest.mark.parametrize(("code", "line", "column"), PLACES, ids=range(len(PLACES)))
def test_a_syntax_error_is_where_an_engine_says_it_is(code: str, line: int, column: int, shape: str) -> None:
    found = verdict(code, shape=shape)

    assert found.code is Code.EVAL_SYNTAX_ERROR
    assert found.location is not None
    assert (found.location.line, found.location.column) == (line, column)
