"""The packages in empty environments, away from the checkout: the commands and programs of the READMEs work there."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple
from urllib.request import urlopen

import pytest
from clean_copy import ROOT, environment, shell

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

README = ROOT.joinpath("README.md").read_text("utf-8")
PACKAGE = ROOT / "clients" / "node"
SESSION = re.compile(r"^\$ (evalward .*)\n((?:(?!\$ |```).*\n)*)", re.MULTILINE)
# `corpus compare` reads the corpus of the clone; the test of that command runs it.
SESSIONS = [(command, shown) for command, shown in SESSION.findall(README) if " corpus " not in command]
INSTALL, CONFIGURE = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)[:2]
(PYTHON,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
ESCAPE = "globalThis['pro'+'cess']['ex'+'it']()"
PAGE = f"""
class Page:
    def evaluate(self, code):
        return "Shop"

assert evaluate(Page(), "document.title") == "Shop"
assert evaluate(Page(), {ESCAPE!r})["code"] == "EVAL_BLOCKED_CONSTRUCT"
"""
NODE_PAGE = f"""
const page = {{ evaluate: () => 'Shop' }};
const answers = [await evalTool(page, 'document.title'), await evalTool(page, {json.dumps(ESCAPE)})];
console.log(JSON.stringify(answers));
process.exit();
"""
# Both systems of modules see one interface, and its types.
REQUIRED = "const { guarded, spawn } = require('evalward'); console.log(typeof guarded, typeof spawn);"
TYPED = """
import { guarded, type Guard } from 'evalward';
export const run = (guard: Guard): ((text: string) => Promise<number>) =>
  guarded((text: string) => text.length, guard, { sink: 'node.vm' });
// @ts-expect-error -- a sink is a name
export const wrong = (guard: Guard) => guarded((text: string) => text, guard, { sink: 1 });
"""

needs_build = pytest.mark.skipif(find_spec("build") is None, reason="evalward[dev] is not complete")
needs_npm = pytest.mark.skipif(
    shutil.which("npm") is None or not (PACKAGE / "dist").is_dir(),
    reason="npm is not installed, or npm run build was not run in clients/node",
)


class Installed(NamedTuple):
    """A folder with the virtual environment that the README's commands made, and the address of their server."""

    folder: Path
    wheel: Path
    address: str
    variables: dict[str, str]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    """Run the README's commands as printed; the wheel is in a folder that pip looks into, as on an index."""
    folder = tmp_path_factory.mktemp("empty")
    wheels = tmp_path_factory.mktemp("wheels")
    build = [sys.executable, "-m", "build", "--wheel", "--outdir", str(wheels)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = wheels.iterdir()
    address = f"unix:{folder}/e.sock"
    variables = environment(folder / "venv" / "bin")
    links = f"{variables.get('PIP_FIND_LINKS', '')} {wheels}".strip()
    serving = {"EVALWARD_LISTEN": address, "EVALWARD_AUDIT_LOG": str(folder / "audit.jsonl")}
    command = ["bash", "-euo", "pipefail", "-c", INSTALL]
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**variables, **serving, "PIP_FIND_LINKS": links, "PIP_QUIET": "1"},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["type"] == "ready"
        yield Installed(folder, wheel, address, {**variables, "PIP_FIND_LINKS": links})
        process.send_signal(signal.SIGTERM)


@needs_build
@pytest.mark.exhaustive
def test_the_commands_of_the_readme_work_with_the_wheel_alone(installed: Installed, tmp_path: Path) -> None:
    folder, variables = installed.folder, installed.variables
    (metadata,) = folder.glob("venv/lib/python*/site-packages/evalward-*.dist-info/RECORD")
    names = zipfile.ZipFile(installed.wheel).namelist()
    assert set(names) <= {line.partition(",")[0] for line in metadata.read_text("utf-8").splitlines()}

    for command, shown in SESSIONS:
        done = subprocess.run(
            shlex.split(command), cwd=folder, env=variables, capture_output=True, text=True, check=False
        )
        assert {line for line in shown.splitlines() if line != "…"} <= set(done.stdout.splitlines()), (
            done.stderr
        )

    for name in ("demo", "--help", "explain process.exit"):
        assert f"`evalward {name}`" in README
        shell(f"evalward {name}", folder, variables)

    (tmp_path / ".config" / "Claude").mkdir(parents=True)
    shell(CONFIGURE, folder, {**variables, "HOME": str(tmp_path)})
    (written,) = tmp_path.rglob("claude_desktop_config.json")
    assert "evalward" in written.read_text("utf-8")

    # A busy machine needs a longer timeout than the page's example.
    patient = PYTHON.replace('("127.0.0.1:7443")', f'("{installed.address}", timeout=20)')
    assert patient != PYTHON
    (folder / "printed.py").write_text(patient + PAGE)
    shell("python printed.py", folder, variables)

    (extra,) = re.findall(r"`(python -m pip install 'evalward\[ui\]')`", README)
    shell(extra, folder, variables)
    with subprocess.Popen(
        ["evalward", "playground"], cwd=folder, env=variables, stdout=subprocess.PIPE, text=True
    ) as page:
        try:
            assert page.stdout is not None
            with urlopen(page.stdout.readline().strip(), timeout=30) as answer:
                assert b"Evalward playground" in answer.read()
        finally:
            page.terminate()


@needs_build
@needs_npm
@pytest.mark.exhaustive
def test_the_programs_of_the_readmes_work_with_the_tarball_alone(
    installed: Installed, tmp_path: Path
) -> None:
    variables = installed.variables
    shell(f"npm pack --silent --ignore-scripts --pack-destination {tmp_path}", PACKAGE, variables)
    shell("npm init -y && npm install --ignore-scripts ./evalward-*.tgz", tmp_path, variables)

    for page in (ROOT / "README.md", PACKAGE / "README.md"):
        (printed,) = re.findall(r"```js\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
        # A busy machine needs longer timeouts than the page's example.
        patient = printed.replace("allowEval: ['renderer'] }", "allowEval: ['renderer'], timeoutMs: 20000 }")
        assert patient != printed
        (tmp_path / "printed.mjs").write_text(patient + NODE_PAGE)
        told = shell("node printed.mjs", tmp_path, {**variables, "HOME": str(tmp_path / "home")})
        answers = json.loads(told.splitlines()[-1])
        assert json.loads(answers[0]["content"][0]["text"]) == "Shop"
        assert answers[1]["isError"] is True

    assert shell(f"node -e {shlex.quote(REQUIRED)}", tmp_path, variables).split() == ["function", "function"]
    (tmp_path / "typed.mts").write_text(TYPED)
    (tmp_path / "typed.cts").write_text(TYPED)
    compiler = PACKAGE / "node_modules" / "typescript" / "bin" / "tsc"
    shell(f"node {compiler} --noEmit --strict --module nodenext typed.mts typed.cts", tmp_path, variables)
