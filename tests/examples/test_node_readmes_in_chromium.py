"""The Node dispatchers of both READMEs, as printed, with a real Playwright page."""

import json
import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DRIVERS = ROOT / "tests" / "sinks" / "drivers" / "node_modules"
CLIENT = ROOT / "clients" / "node"
CHROMIUM = shutil.which("chromium")
ESCAPE = "{}/\"/-globalThis['ev'+'al']('document.title=1,7')//\"/1"
REACHING = "pick()('document.title = 1')"
# Opens a page, passes texts to the printed function, and prints its results and the page's title afterwards.
CALLER = """
import { chromium } from 'playwright-core';
import { evalTool } from './printed.mjs';

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox'] });
const page = await browser.newPage();
await page.setContent('<title>Shop</title>');
// Nothing in a payload says what this function of the page gives.
await page.evaluate(() => Object.assign(window, { pick: () => eval }));
const answers = [];
for (const text of JSON.parse(process.argv[2])) answers.push(await evalTool(page, text));
console.log(JSON.stringify({ answers, title: await page.title() }));
await browser.close();
process.exit();
"""

pytestmark = pytest.mark.skipif(
    CHROMIUM is None or shutil.which("node") is None or not (DRIVERS / "playwright-core").is_dir(),
    reason="chromium, node or the drivers of tests/sinks/drivers are not installed",
)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("page", ["README.md", "clients/node/README.md"])
def test_the_printed_dispatcher_runs_what_is_allowed_and_nothing_else(page: str, tmp_path: Path) -> None:
    printed = next(
        block
        for block in re.findall(r"```js\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
        if "export async function evalTool" in block
    )
    # A busy machine needs longer timeouts than the page's example.
    patient = printed.replace("allowEval: ['renderer'] }", "allowEval: ['renderer'], timeoutMs: 20000 }")
    assert patient != printed
    (tmp_path / "printed.mjs").write_text(patient)
    (tmp_path / "caller.mjs").write_text(CALLER)
    modules = tmp_path / "node_modules"
    modules.mkdir()
    (modules / "evalward").symlink_to(CLIENT)
    (modules / "playwright-core").symlink_to(DRIVERS / "playwright-core")
    scripts = sysconfig.get_path("scripts")
    environment = {
        **os.environ,
        "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "CHROMIUM": str(CHROMIUM),
    }

    done = subprocess.run(
        ["node", "caller.mjs", json.dumps(["document.title", ESCAPE, REACHING])],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    allowed, denied, stopped = told["answers"]
    assert allowed["content"][0]["text"] == '"Shop"'
    assert (denied["isError"], denied["structuredContent"]["code"]) == (True, "EVAL_BLOCKED_CONSTRUCT")
    assert (stopped["isError"], stopped["structuredContent"]["code"]) == (True, "EVAL_DENIED_AT_RUN_TIME")
    assert stopped["structuredContent"]["details"]["construct"] == "eval()"
    assert stopped["structuredContent"]["_meta"]["audited"] is True
    assert told["title"] == "Shop"
