"""``evalward policy diff --ruleset``: the user's cases whose verdict the next ruleset changes."""

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evalward.cli.app import app
from evalward.guard.constructs import CONSTRUCTS, labels
from evalward.guard.constructs.labels import RULESET_NUMBER

RUNNER = CliRunner()
NEXT = RULESET_NUMBER + 1
CASES = """\
- {id: title, code: document.title, target: renderer, expect: allow}
- {id: timer, code: "setTimeout('go()', 1)", target: renderer, expect: block}
- {id: denied, code: "setTimeout('go()', 1)", target: main, expect: block}
"""


@pytest.fixture
def cases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Write cases, of which a construct blocks two from the next ruleset on."""
    new = replace(CONSTRUCTS["string-timer"], since=NEXT)
    monkeypatch.setattr(labels, "CONSTRUCTS", {**CONSTRUCTS, new.label: new})
    (tmp_path / "own.yaml").write_text(CASES, encoding="utf-8")
    return str(tmp_path / "own.yaml")


def diff(*arguments: str) -> tuple[int, list[str]]:
    done = RUNNER.invoke(app, ["policy", "diff", *arguments])
    return done.exit_code, done.stdout.splitlines()


def test_what_the_next_ruleset_blocks_is_printed(cases: str, tmp_path: Path) -> None:
    changed = "allowed -> EVAL_BLOCKED_CONSTRUCT string-timer"
    status, found = diff("--ruleset", f"{RULESET_NUMBER}..{NEXT}", cases)
    assert (status, found[:-1]) == (1, [f"timer (renderer): {changed}", f"denied (main): {changed}"])

    file = tmp_path / "policy.yaml"
    file.write_text("api_version: evalward/v1\ntargets: {renderer: {allowed: true}}\n", encoding="utf-8")
    status, found = diff("--ruleset", f"{RULESET_NUMBER}..{NEXT}", "--policy", str(file), cases)
    assert (status, found[:-1]) == (1, [f"timer (renderer): {changed}"])


def test_a_ruleset_is_the_same_as_itself(cases: str) -> None:
    assert diff("--ruleset", f"{NEXT}..{NEXT}", cases)[0] == 0


@pytest.mark.parametrize("text", ["1", "0..1", f"1..{NEXT + 1}", "a..b", "1...2"])
def test_what_is_no_pair_of_rulesets_is_a_usage_error(text: str, cases: str) -> None:
    assert diff("--ruleset", text, cases)[0] == 2


def test_a_policy_for_both_goes_with_rulesets_only(cases: str) -> None:
    assert diff("--policy", cases, cases, cases)[0] == 2
