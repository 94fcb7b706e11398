"""``evalward corpus run``: the JSON object, the summary and the exit code."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from junitparser import JUnitXml
from typer.testing import CliRunner

from evalward.cli.app import app

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

RUNNER = CliRunner()
ESCAPE = {
    "id": "e",
    "code": "process['exit'](0)",
    "target": "main",
    "expect": "block",
    "construct": "process.exit",
}
BENIGN = {"id": "b", "code": "1 + 1", "target": "main", "expect": "allow"}


def corpus(tmp_path: Path, *cases: Mapping[str, object]) -> str:
    """Write ``cases`` as JSON Lines and return the file's name."""
    file = tmp_path / "cases.jsonl"
    file.write_text("\n".join(map(json.dumps, cases)), encoding="utf-8")
    return str(file)


def test_the_json_object_is_as_specified(tmp_path: Path) -> None:
    result = RUNNER.invoke(app, ["corpus", "run", corpus(tmp_path, ESCAPE, BENIGN), "--json"])

    report = json.loads(result.stdout)
    assert report.pop("elapsed_s") >= 0
    assert report == {
        "profile": "balanced",
        "escapes": {"total": 1, "blocked": 1, "limited": [], "missed": [], "wrong_construct": []},
        "benign": {"total": 1, "allowed": 1, "blocked": []},
        "not_opted_in": {},
    }
    assert result.exit_code == 0


def test_the_summary_counts_one_case_as_one(tmp_path: Path) -> None:
    one, two = (
        RUNNER.invoke(app, ["corpus", "run", corpus(tmp_path, *cases)])
        for cases in ([ESCAPE], [ESCAPE, BENIGN])
    )

    assert "1 case under profile" in one.stdout + one.stderr
    assert "2 cases under profile" in two.stdout + two.stderr


def test_a_policy_that_does_not_opt_a_target_in_is_named(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("api_version: evalward/v1\ntargets: {renderer: {allowed: true}}\n")
    cases = corpus(tmp_path, ESCAPE, BENIGN, {**BENIGN, "id": "r", "target": "renderer"})

    result = RUNNER.invoke(app, ["corpus", "run", cases, "--policy", str(policy), "--json"])

    assert json.loads(result.stdout)["not_opted_in"] == {"main": 2}
    assert f"2 cases are denied unjudged: {policy} does not opt in the target main" in result.stderr


def test_junit_has_every_case_and_no_payload(tmp_path: Path) -> None:
    limited = {**ESCAPE, "id": "l", "code": "(" * 3_000 + "1" + ")" * 3_000}
    cases = [ESCAPE, {**ESCAPE, "id": "w", "construct": "process.kill"}, BENIGN]
    cases += [{**BENIGN, "id": "f", "expect": "block"}, {**ESCAPE, "id": "g", "expect": "allow"}, limited]
    out = tmp_path / "result.xml"

    result = RUNNER.invoke(app, ["corpus", "run", corpus(tmp_path, *cases), "--junit", str(out)])

    assert result.exit_code == 1
    (suite,) = JUnitXml.fromfile(str(out))
    kinds = {case.name: [type(each).__name__ for each in case.result] for case in suite}
    assert kinds == {"e": [], "b": [], "w": ["Failure"], "f": ["Failure"], "g": ["Failure"], "l": ["Skipped"]}
    assert (suite.tests, suite.failures, suite.skipped) == (6, 3, 1)
    assert "exit'](0)" not in out.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("case", "exit_code", "line"),
    [
        (ESCAPE, 0, "escapes 1: 1 blocked"),
        (BENIGN, 0, "benign  1: 1 allowed"),
        (ESCAPE | {"code": "1"}, 1, "missed: e (main)"),
        (
            ESCAPE | {"construct": "with"},
            1,
            "wrong construct: e (main): EVAL_BLOCKED_CONSTRUCT process.exit, expected with",
        ),
        (
            BENIGN | {"code": "process['exit'](0)"},
            1,
            "wrongly blocked: b (main): EVAL_BLOCKED_CONSTRUCT process.exit",
        ),
        (ESCAPE | {"code": "1;" * 70_000}, 0, "limited: e (main): EVAL_PAYLOAD_TOO_LARGE"),
    ],
)
def test_the_summary_and_the_exit_code(
    tmp_path: Path, case: dict[str, object], exit_code: int, line: str
) -> None:
    result = RUNNER.invoke(app, ["corpus", "run", corpus(tmp_path, case)])

    assert (result.exit_code, line in result.stdout) == (exit_code, True)


def test_the_profile_decides_which_expectation_counts(tmp_path: Path) -> None:
    alias = ESCAPE | {
        "code": "globalThis['pro' + 'cess']['ex' + 'it']()",
        "expect": {"balanced": "block", "strict": "block", "seed": "allow"},
    }
    file = corpus(tmp_path, alias)

    reports = {
        profile: json.loads(
            RUNNER.invoke(app, ["corpus", "run", file, "--json", "--profile", profile]).stdout
        )
        for profile in ("seed", "balanced", "strict")
    }

    assert {name: report["profile"] for name, report in reports.items()} == {name: name for name in reports}
    assert {name: report["escapes"]["total"] for name, report in reports.items()} == {
        "seed": 0,
        "balanced": 1,
        "strict": 1,
    }
    assert reports["seed"]["benign"] == {"total": 1, "allowed": 1, "blocked": []}


def test_a_policy_decides_what_is_opted_in(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("api_version: evalward/v1\ntargets: {renderer: {allowed: true}}\n", encoding="utf-8")

    result = RUNNER.invoke(
        app, ["corpus", "run", corpus(tmp_path, BENIGN), "--policy", str(policy), "--json"]
    )

    blocked = json.loads(result.stdout)["benign"]["blocked"]
    assert (result.exit_code, [entry["error_code"] for entry in blocked]) == (1, ["EVAL_TARGET_DENIED"])


@pytest.mark.parametrize("arguments", [[], ["nowhere"], ["--profile", "lax", "."]], ids=str)
def test_usage_errors_exit_with_2(arguments: list[str]) -> None:
    assert RUNNER.invoke(app, ["corpus", "run", *arguments]).exit_code == 2


def test_a_broken_case_is_named_on_standard_error(tmp_path: Path) -> None:
    result = RUNNER.invoke(app, ["corpus", "run", corpus(tmp_path, BENIGN | {"expect": "pass"})])

    assert (result.exit_code, result.stdout) == (2, "")
    assert "cases.jsonl: line 1 (b): expect:" in result.stderr
