"""``evalward corpus compare``: profiles, guards from npm and commands, as table, JSON and HTML."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import pytest
from command_line import run

ROOT = Path(__file__).parents[2]
PACKAGES = ROOT / "benchmarks" / "node_guards"
CASES = [
    {"id": "concatenated", "code": "process['ex' + 'it'](0)", "target": "main", "expect": "block"},
    {"id": "plain", "code": "process.exit(0)", "target": "main", "expect": "block"},
    {"id": "title", "code": "document.title", "target": "renderer", "expect": "allow"},
    {"id": "mention", "code": "'no process.exit( here'", "target": "main", "expect": "allow"},
    {"id": "<b>\u202e</b>".replace("\u202e", "&"), "code": "1", "target": "main", "expect": "allow"},
    {"id": "either", "code": "a[b]", "target": "main", "expect": {"balanced": "allow", "strict": "block"}},
]
OWN = """
import json, sys
print("ready", file=sys.stderr)
for line in sys.stdin:
    code = json.loads(line)["code"]
    print(json.dumps({"allowed": "exit" not in code, "why": "exit"}), flush=True)
"""
AST_GUARD = """
export const Presets = { secure: () => 'secure' };
export class JSAstValidator {
  constructor(rules) { if (rules !== 'secure') throw new Error('rules'); console.log('noise'); }
  async validate(code) {
    if (code === '1') throw new SyntaxError('one');
    const valid = !code.includes('process');
    return { valid, issues: valid ? [] : [{ code: 'DISALLOWED_IDENTIFIER' }] };
  }
}
"""
needs_packages = pytest.mark.skipif(
    not (PACKAGES / "node_modules").is_dir(), reason="npm ci was not run in benchmarks/node_guards"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    tmp_path.joinpath("cases.jsonl").write_text("\n".join(map(json.dumps, CASES)))
    tmp_path.joinpath("own.py").write_text(OWN)
    package = tmp_path / "node_modules" / "ast-guard"
    package.mkdir(parents=True)
    package.joinpath("package.json").write_text(
        '{"name": "ast-guard", "type": "module", "exports": "./a.js"}'
    )
    package.joinpath("a.js").write_text(AST_GUARD)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_profiles_and_a_command_side_by_side() -> None:
    own = f"mine={shlex.quote(sys.executable)} own.py"

    done = run(
        "corpus", "compare", "cases.jsonl", "--with", "seed", "--command", own, "--json", "--html", "a.html"
    )

    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    counted = {
        each["guard"]: (each["escapes"]["blocked"], each["benign"]["allowed"]) for each in document["guards"]
    }
    assert counted == {"evalward": (2, 3), "seed": (1, 2), "mine": (1, 2)}
    assert (document["cases"], document["compared"]) == (6, 5)
    answers = {row["id"]: row["answers"] for row in document["rows"]}
    assert answers["concatenated"]["seed"] == {"allowed": True, "why": None}
    assert answers["mention"]["mine"] == {"allowed": False, "why": "exit"}
    html = Path("a.html").read_text("utf-8")
    assert "<td>concatenated</td>" in html
    assert "<b>" not in html
    assert "process[" not in html


@pytest.mark.usefixtures("folder")
def test_a_guard_from_npm_is_that_of_the_folder() -> None:
    done = run("corpus", "compare", "cases.jsonl", "--with", "ast-guard", "--json")

    answers = {row["id"]: row["answers"]["ast-guard"] for row in json.loads(done.stdout)["rows"]}
    assert answers["plain"] == {"allowed": False, "why": "DISALLOWED_IDENTIFIER"}
    assert answers["title"] == {"allowed": True, "why": None}
    assert answers["<b>&</b>"] == {"allowed": False, "why": "SyntaxError"}


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--with", "js-xray"], 2, "did you mean js-x-ray"),
        (["--command", "mine"], 2, "NAME=COMMAND"),
        (["--command", "strict=true"], 2, "name of its own"),
        (["--with", "js-x-ray"], 3, "npm install @nodesecure/js-x-ray"),
        (["--command", "mine=missing-program"], 3, "mine cannot be started"),
        (["--command", "mine=true"], 3, "mine gave no answer"),
        (["--command", "mine=sh -c 'read line; echo \"{}\"'"], 3, "mine gave no answer"),
        (["--policy", "missing.yaml"], 3, "POLICY_INVALID"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_is_missing_is_said(arguments: list[str], code: int, said: str) -> None:
    done = run("corpus", "compare", "cases.jsonl", *arguments)

    assert done.returncode == code
    assert said in " ".join(done.stderr.replace("│", " ").split()).replace("- ", "-")


@needs_packages
def test_the_readme_shows_what_the_command_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    readme = ROOT.joinpath("README.md").read_text("utf-8")
    session = re.search(r"^\$ evalward (corpus compare .*)\n((?:(?!```).*\n)+)", readme, re.MULTILINE)
    assert session is not None

    assert run(*shlex.split(session[1])).stdout == session[2]
