"""Node as a witness: what the case file says that V8 runs, V8 runs."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest
from guard_cases import cases

NODE = shutil.which("node")
SCRIPT = """
const vm = require('vm');
const rows = JSON.parse(require('fs').readFileSync(0, 'utf8'));
const out = rows.map(code => {
  const tries = [code, `(${code}\\n)`, `${code}\\n;try { f() } catch {}`,
    `${code}\\n;try { for (const _ of g()); } catch {}`, `${code}\\n;new A().f()`, `${code}\\n;f()()`,
    `(function () { ${code}\\n})()`];
  for (const text of tries) {
    const sandbox = {ran: false};
    sandbox.P = () => { sandbox.ran = true; return () => 0; };
    for (const name of ['i', 'x', 'a', 'g', 'b', 'yield', 'await', 'let', 'async', 'name', 'q'])
      sandbox[name] = 1;
    const context = vm.createContext(sandbox);
    try { vm.runInContext(text, context, {timeout: 200}); } catch {}
    if (sandbox.ran) return true;
  }
  return false;
});
console.log(JSON.stringify(out));
"""


@pytest.mark.skipif(NODE is None, reason="needs node")
def test_the_hidden_call_runs_in_v8() -> None:
    assert NODE is not None
    rows = cases("syntax/ambiguities")
    hidden = [row for row in rows if "P()" in row["code"] and "<b>" not in row["code"]]
    done = subprocess.run(
        [NODE, "-e", SCRIPT],
        input=json.dumps([row["code"] for row in hidden]),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    silent = {row["id"] for row, ran in zip(hidden, json.loads(done.stdout), strict=True) if not ran}
    # No V8 runs JSX; these are rejected because the tree reads them as code.
    assert silent == {"U7/jsx"}
