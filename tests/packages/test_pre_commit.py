"""The hooks under pre-commit itself, in a fresh repository: it clones this one and installs it, as a user's would."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from clean_copy import DEVELOPMENT, ROOT, environment, shell

if TYPE_CHECKING:
    from pathlib import Path

PAGE = ROOT.joinpath("docs/how-to/check-in-ci.md").read_text("utf-8")
FINE = {
    "steps/fine.js": "document.title\n",
    "recordings/fine.json": '{"arguments": {"code": "document.title"}}\n',
}
# Outside `files` of the hooks.
ELSEWHERE = {"build/other.js": "process.exit()\n"}
ESCAPES = {
    "steps/escape.js": "process['ex' + 'it']()\n",
    "recordings/escape.json": '{"arguments": {"code": "navigator[\'serviceWorker\'].register(u)"}}\n',
}


def configuration() -> Any:
    """Return the page's example with this repository at its newest commit."""
    (text,) = (block for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL) if "hooks:" in block)
    printed = yaml.safe_load(text)
    (repository,) = printed["repos"]
    newest = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    repository |= {"repo": str(ROOT), "rev": newest.stdout.strip()}
    return printed


def write(files: dict[str, str], folder: Path) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)


@pytest.mark.exhaustive
@pytest.mark.skipif(find_spec("pre_commit") is None, reason="pre-commit of evalward[dev] is not installed")
def test_the_hooks_deny_an_escape_and_nothing_else(tmp_path: Path) -> None:
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    variables = {**environment(DEVELOPMENT), "PRE_COMMIT_HOME": str(tmp_path / "cache")}
    (fresh / ".pre-commit-config.yaml").write_text(yaml.safe_dump(configuration()))
    write(FINE | ELSEWHERE, fresh)
    shell("git init --quiet && git add .", fresh, variables)

    told = shell("pre-commit run --all-files", fresh, variables)

    assert len(re.findall(r"^evalward check\b.*Passed$", told, re.MULTILINE)) == 2

    write(ESCAPES, fresh)
    shell("git add .", fresh, variables)
    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", "run", "--all-files"],
        cwd=fresh,
        env=variables,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert len(re.findall(r"^evalward check\b.*Failed$", done.stdout, re.MULTILINE)) == 2
    assert {name for name in (*FINE, *ELSEWHERE, *ESCAPES) if name in done.stdout} == set(ESCAPES)
    assert "process.exit" in done.stdout
