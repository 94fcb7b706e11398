"""``evalward check --fix-preview``: the rewrite as a diff, and what the runs of both programs show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from command_line import run

from evalward.cli import fix_preview
from evalward.guard import judge
from evalward.guard.target import Shape, Target
from evalward.oracle import Engine
from evalward.oracle.chromium import ChromiumOracle
from evalward.oracle.node import NodeOracle
from evalward.oracle.rewrite_runs import Comparison, RewriteRuns
from evalward.policy import Policy

CASES: list[dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("data").joinpath("fix_preview.yaml").read_text("utf-8")
)
ORACLES: dict[str, type[ChromiumOracle | NodeOracle]] = {"chromium": ChromiumOracle, "node": NodeOracle}
POLICY = Policy.default().allowing(list(Target))


def check(case: dict[str, Any], form: str, tmp_path: Path) -> tuple[int, str]:
    file = tmp_path / "step.js"
    file.write_bytes(case["code"].encode())
    options = ("--target", case["target"], "--shape", case["shape"], "--format", form)
    done = run("check", str(file), *options, "--fix-preview")
    return done.returncode, done.stdout


def patched(before: str, diff: str) -> str:
    """Return what a unified diff of the whole text makes of ``before``."""
    lines: list[str] = []
    for line in diff.split("\n")[2:]:
        if line.startswith("\\"):
            lines[-1] = lines[-1].removesuffix("\n")
        elif not line.startswith("@"):
            lines.append(f"{line}\n")
    old, new = ("".join(line[1:] for line in lines if line[0] in f" {mark}") for mark in "-+")
    assert old.replace("\r", "") == before.replace("\r", "")
    return new


@pytest.fixture(autouse=True)
def engines(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fix_preview, "DEADLINE_SECONDS", 30)  # a busy machine is slow, and not a finding
    case = getattr(request.node, "callspec", None)
    given = {} if case is None else case.params.get("case", {})
    for name in given.get("absent", ()):
        monkeypatch.setattr(ORACLES[name], "missing", lambda name=name: f"{name} is not installed")
    needed = given.get("needs")
    if needed and (reason := ORACLES[needed].missing()):
        pytest.skip(reason)


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_the_rewrite_of_a_blocked_payload_is_shown_as_json(case: dict[str, Any], tmp_path: Path) -> None:
    status, printed = check(case, "json", tmp_path)
    line = json.loads(printed)

    assert status == (0 if line["verdict"]["ok"] else 1)
    if "to" not in case:
        assert line["fix"] is None
        return
    fix = line["fix"]
    assert (fix["payload"], fix["comparison"], fix["engine"]) == (
        case["to"],
        case["shows"],
        case.get("engine"),
    )
    assert case.get("detail", "") in fix["detail"]
    assert patched(case["code"], fix["diff"]).replace("\r", "") == case["to"].replace("\r", "")
    target = Target(case["target"])
    again = judge(
        fix["payload"].encode(), target=target, shape=Shape(case["shape"]), rules=POLICY.rules_for(target)
    )
    assert again.allowed


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_the_text_has_the_diff_and_no_control_characters(case: dict[str, Any], tmp_path: Path) -> None:
    _, printed = check(case, "text", tmp_path)

    assert ("fix: " in printed) is ("to" in case)
    assert [char for char in printed if not char.isprintable() and char != "\n"] == []
    if case.get("shows") == "same":
        assert f"and does the same in {case['engine']}" in printed
    elif case.get("shows") == "not-run":
        assert "not run: " in printed


def test_a_rewrite_that_does_something_else_is_not_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = RewriteRuns(Comparison.DIFFERENT, Engine.QUICKJS, "value: 1 / 2")
    monkeypatch.setattr(fix_preview, "compare_runs", lambda *_: shown)
    case = {"code": "eval('1')", "target": "sandbox", "shape": "expression"}

    status, printed = check(case, "json", tmp_path)
    _, text = check(case, "text", tmp_path)

    fix = json.loads(printed)["fix"]
    assert (status, fix["offered"], fix["payload"], fix["diff"]) == (1, False, None, None)
    assert "not offered, in quickjs the rewrite does not do the same: value: 1 / 2" in text
    assert "+++" not in text


def test_each_of_several_payloads_has_its_own(tmp_path: Path) -> None:
    for name, code in (("a", "eval('1')"), ("b", "eval(x)"), ("c", "1")):
        tmp_path.joinpath(f"{name}.js").write_text(code)

    done = run("check", str(tmp_path), "--target", "sandbox", "--format", "json", "--fix-preview")

    fixes = [json.loads(line)["fix"] for line in done.stdout.splitlines()]
    assert [fix and fix["payload"] for fix in fixes] == ["1", None, None]


def test_a_payload_without_a_flag_has_its_envelope_as_before() -> None:
    assert "fix" not in json.loads(run("check", "-e", "eval('1')", "--format", "json").stdout)
    assert run("check", "-e", "1", "--format", "sarif", "--fix-preview").returncode == 2
