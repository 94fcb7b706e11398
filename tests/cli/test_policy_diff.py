"""``evalward policy diff``: the user's cases whose verdict a policy change affects."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evalward.cli.app import app

RUNNER = CliRunner()
CASES = """\
- {id: title, code: document.title, target: renderer, expect: allow}
- {id: fetch, code: "fetch('/a')", target: renderer, expect: allow}
- {id: exit, code: "process['ex' + 'it'](0)", target: main, expect: block}
- {id: keyword, code: "process.exit(0)", target: main, expect: block}
- {id: bound, code: "page.title()", target: node, expect: allow, bindings: {page: playwright.page}}
"""
OPEN = "targets: {renderer: {allowed: true}, main: {allowed: true}, node: {allowed: true}}\n"


@pytest.fixture
def cases(tmp_path: Path) -> str:
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / "own.yaml").write_text(CASES, encoding="utf-8")
    return str(tmp_path / "cases")


def policy(folder: Path, name: str, text: str) -> str:
    file = folder / f"{name}.yaml"
    file.write_text(f"api_version: evalward/v1\n{text}", encoding="utf-8")
    return str(file)


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        (OPEN, OPEN, []),
        (OPEN, "profile: balanced\n" + OPEN, []),
        (
            OPEN,
            OPEN.replace("renderer: {allowed: true}, ", ""),
            [
                "title (renderer): allowed -> EVAL_TARGET_DENIED",
                "fetch (renderer): allowed -> EVAL_TARGET_DENIED",
            ],
        ),
        (
            OPEN + "constructs: {network: block}\n",
            OPEN,
            ["fetch (renderer): EVAL_BLOCKED_CONSTRUCT network -> allowed"],
        ),
        (
            OPEN,
            OPEN + "enforcement: audit\n",
            [
                "exit (main): EVAL_BLOCKED_CONSTRUCT process.exit -> allowed",
                "keyword (main): EVAL_BLOCKED_KEYWORD process.exit -> allowed",
            ],
        ),
        (
            OPEN,
            OPEN + "blocklist: {remove: [process.exit]}\n",
            ["keyword (main): EVAL_BLOCKED_KEYWORD process.exit -> EVAL_BLOCKED_CONSTRUCT process.exit"],
        ),
        (
            OPEN,
            OPEN.replace(
                "node: {allowed: true}", "node: {allowed: true, bindings: {page: playwright.context}}"
            ),
            ["bound (node): allowed -> STRICT_CONSTANT_OVERRIDE"],
        ),
    ],
)
def test_the_cases_whose_answer_changes_are_printed(
    old: str, new: str, changed: list[str], cases: str, tmp_path: Path
) -> None:
    done = RUNNER.invoke(
        app, ["policy", "diff", policy(tmp_path, "a", old), policy(tmp_path, "b", new), cases]
    )

    *lines, summary = done.stdout.splitlines()
    assert lines == changed
    assert summary.startswith(f"{len(changed)} of 5 cases change")
    assert done.exit_code == (1 if changed else 0)


def test_json_has_both_digests_and_both_answers(cases: str, tmp_path: Path) -> None:
    strict = OPEN + "constructs: {network: block}\n"
    files = [policy(tmp_path, "a", OPEN), policy(tmp_path, "b", strict)]

    done = RUNNER.invoke(app, ["policy", "diff", *files, cases, "--json"])

    report = json.loads(done.stdout)
    assert done.exit_code == 1
    assert report["old"] != report["new"]
    assert report["cases"] == 5
    assert report["changed"] == [
        {
            "id": "fetch",
            "target": "renderer",
            "old": {"allowed": True, "code": None, "why": None},
            "new": {"allowed": False, "code": "EVAL_BLOCKED_CONSTRUCT", "why": "network"},
        }
    ]


def test_without_a_path_the_cases_of_the_directory_corpus_are_judged(
    cases: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = policy(tmp_path, "a", OPEN)
    monkeypatch.chdir(tmp_path)
    missing = RUNNER.invoke(app, ["policy", "diff", file, file])
    Path(cases).rename(tmp_path / "corpus")
    found = RUNNER.invoke(app, ["policy", "diff", file, file])

    assert (missing.exit_code, found.exit_code) == (2, 0)
    assert "corpus" in missing.stderr


def test_a_policy_that_is_not_valid_is_no_difference(cases: str, tmp_path: Path) -> None:
    files = [policy(tmp_path, "a", OPEN), policy(tmp_path, "b", "profil: strict\n")]

    done = RUNNER.invoke(app, ["policy", "diff", *files, cases])

    assert done.exit_code == 3
    assert done.stderr.startswith("POLICY_INVALID: ")
