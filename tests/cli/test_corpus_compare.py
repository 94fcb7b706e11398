"""``evalward corpus compare``: profiles, guards from npm and commands, as table, JSON and HTML."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from pathlib import Path

import pytest
from command_line import run

from evalward.corpus.peer import TIMED_OUT, Peer

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
FAILING = """
import json, os, sys
for line in sys.stdin:
    code = json.loads(line)["code"]
    while "title" in code: pass
    if "mention" in code or "exit(" in code: os._exit(1)
    print(json.dumps({"allowed": True}), flush=True)
"""
DEAF = """
import sys
sys.stdin.readline()
print('{"allowed": true}', flush=True)
while True: pass
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
    tmp_path.joinpath("failing.py").write_text(FAILING)
    add_package(tmp_path, "ast-guard", AST_GUARD)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def add_package(folder: Path, name: str, text: str) -> None:
    package = folder / "node_modules" / name
    package.mkdir(parents=True)
    document = {"name": name, "version": "2.1.0", "type": "module", "exports": "./a.js"}
    package.joinpath("package.json").write_text(json.dumps(document))
    package.joinpath("a.js").write_text(text)


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

    document = json.loads(done.stdout)
    assert [each["package"] for each in document["guards"]] == [None, "ast-guard 2.1.0"]
    answers = {row["id"]: row["answers"]["ast-guard"] for row in document["rows"]}
    assert answers["plain"] == {"allowed": False, "why": "DISALLOWED_IDENTIFIER"}
    assert answers["title"] == {"allowed": True, "why": None}
    assert answers["<b>&</b>"] == {"allowed": False, "why": "SyntaxError"}


def test_the_newer_name_of_a_package_is_the_same_guard(folder: Path) -> None:
    add_package(folder, "@enclave-vm/ast", AST_GUARD.replace("'process'", "'document'"))

    done = run("corpus", "compare", "cases.jsonl", "--with", "ast-guard")

    assert "packages: @enclave-vm/ast 2.1.0" in done.stdout.splitlines()
    assert re.search(r"^ast-guard +0 of 2 .* 1 of 3 ", done.stdout, re.MULTILINE)


@pytest.mark.usefixtures("folder")
def test_a_guard_that_loops_or_ends_at_a_payload_denies_it_and_judges_the_next() -> None:
    own = f"failing={shlex.quote(sys.executable)} failing.py"
    arguments = ("corpus", "compare", "cases.jsonl", "--with", "", "--command", own, "--timeout", "2")

    document = json.loads(run(*arguments, "--json").stdout)

    answers = {row["id"]: row["answers"]["failing"] for row in document["rows"]}
    assert answers == {
        "concatenated": {"allowed": True, "why": None},
        "plain": {"allowed": False, "why": "ended without an answer"},
        "title": {"allowed": False, "why": "timed out"},
        "mention": {"allowed": False, "why": "ended without an answer"},
        "<b>&</b>": {"allowed": True, "why": None},
    }


@pytest.mark.usefixtures("folder")
def test_what_a_guard_starts_ends_with_it_and_is_counted() -> None:
    """The shell's child holds the pipe open, so that killing the shell alone would leave the reader waiting."""
    own = f"failing=sh -c '{shlex.quote(sys.executable)} failing.py; true'"

    done = run("corpus", "compare", "cases.jsonl", "--with", "", "--command", own, "--timeout", "2")

    assert "blocked by failing without an answer, as it timed out or ended: 3" in done.stdout.splitlines()


def test_a_payload_that_a_guard_does_not_read_blocks_nothing(tmp_path: Path) -> None:
    tmp_path.joinpath("deaf.py").write_text(DEAF)
    command = f"{shlex.quote(sys.executable)} {shlex.quote(str(tmp_path / 'deaf.py'))}"

    with Peer.from_command("deaf", command, seconds=0.5) as deaf:
        # Larger than what a pipe holds.
        assert deaf.judge("1" * 1_000_000) == (False, TIMED_OUT)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--with", "js-xray"], 2, "did you mean js-x-ray"),
        (["--command", "mine"], 2, "NAME=COMMAND"),
        (["--command", "strict=true"], 2, "name of its own"),
        (["--with", "js-x-ray"], 3, "npm install @nodesecure/js-x-ray"),
        (["--timeout", "0"], 2, "0.1"),
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


def rows(table: str) -> dict[str, tuple[int, float, int, float]]:
    """Return the totals and shares, in percent, of each guard of a table."""
    found = re.findall(r"^(\S+) +\S+ of (\S+) \((\S+) %\) +\S+ of (\S+) \((\S+) %\)$", table, re.MULTILINE)
    return {
        guard: (int(escapes.replace(",", "")), float(blocked), int(benign.replace(",", "")), float(allowed))
        for guard, escapes, blocked, benign, allowed in found
    }


@pytest.mark.lasts(20)
@pytest.mark.exhaustive
@needs_packages
def test_the_command_prints_the_table_of_the_readme(monkeypatch: pytest.MonkeyPatch) -> None:
    """The corpus grows, so that shares may differ by a point. CI cannot install ast-guard, and runs the others."""
    monkeypatch.chdir(ROOT)
    readme = ROOT.joinpath("README.md").read_text("utf-8")
    session = re.search(r"^\$ evalward (corpus compare .*)\n((?:(?!```).*\n)+)", readme, re.MULTILINE)
    assert session is not None
    shown = rows(session[2])
    assert list(shown) == ["evalward", "seed", "js-x-ray", "ast-guard"]
    assert len({(escapes, benign) for escapes, _, benign, _ in shown.values()}) == 1
    both = os.environ.get("EVALWARD_NPM_GUARDS")
    command = session[1] if both else session[1].replace(",ast-guard", "")

    printed = rows(run(*shlex.split(command), "--npm", both or str(PACKAGES)).stdout)

    assert list(printed) == list(shown)[: 4 if both else 3]
    for guard, (escapes, blocked, benign, allowed) in printed.items():
        assert (escapes, benign) == pytest.approx((shown[guard][0], shown[guard][2]), rel=0.1)
        assert (blocked, allowed) == pytest.approx((shown[guard][1], shown[guard][3]), abs=1)
    assert printed["evalward"][1::2] == (100, 100)
