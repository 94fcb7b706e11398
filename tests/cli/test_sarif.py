"""``evalward check --format sarif``: results, locations and traces as in SARIF 2.1.0, and no payload text."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evalward.cli.sarif import _rule
from evalward.errors import Code
from evalward.guard.constructs import CONSTRUCTS

EVALWARD = Path(sys.executable).with_name("evalward")
MARKER = "marker_51c0"


def check(payload: str, file: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    file.write_text(payload)
    command: list[str | Path] = [EVALWARD, "check", file, "--format", "sarif", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert MARKER not in done.stdout
    log = json.loads(done.stdout)
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    assert run["tool"]["driver"]["name"] == "evalward"
    assert {rule["id"] for rule in run["tool"]["driver"]["rules"]} == {
        result["ruleId"] for result in run["results"]
    }
    assert run["artifacts"][0]["location"]["uri"] == str(file)
    return done.returncode, run


def test_a_finding_has_its_place_and_the_way_to_it(tmp_path: Path) -> None:
    payload = f"const {MARKER} = 'exit';\nprocess[{MARKER}](0)"

    code, run = check(payload, tmp_path / "payload.js")

    assert code == 1
    (result,) = run["results"]
    assert (result["ruleId"], result["level"]) == ("process.exit", "error")
    region = result["locations"][0]["physicalLocation"]["region"]
    begin, size = region["byteOffset"], region["byteLength"]
    assert payload[begin : begin + size] == f"process[{MARKER}](0)"
    assert (region["startLine"], region["startColumn"]) == (2, 1)
    steps = result["codeFlows"][0]["threadFlows"][0]["locations"]
    assert all(step["location"]["message"]["text"] for step in steps)


@pytest.mark.parametrize(
    ("payload", "rule"), [("((", "EVAL_SYNTAX_ERROR"), ("'__proto__'", "EVAL_BLOCKED_KEYWORD")]
)
def test_a_denial_without_a_construct_names_its_code(payload: str, rule: str, tmp_path: Path) -> None:
    code, run = check(payload, tmp_path / "payload.js")

    assert code == 1
    assert [result["ruleId"] for result in run["results"]] == [rule]


def test_each_result_and_each_rule_has_its_own_text(tmp_path: Path) -> None:
    payload = "new Worker('a.js');\nfetch('/x');\nfetch('/y');\nwith (a) b"

    _, run = check(payload, tmp_path / "payload.js", "--target", "renderer")

    results, rules = run["results"], run["tool"]["driver"]["rules"]
    assert len(results) >= 2
    texts = [result["message"]["text"] for result in results]
    assert len(set(texts)) == len(texts)
    for result in results:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["ruleId"] in result["message"]["text"]
        line = result["locations"][0]["physicalLocation"]["region"]["startLine"]
        assert f"line {line}," in result["message"]["text"]
    for part in ("shortDescription", "fullDescription", "help"):
        texts = [rule[part]["text"] for rule in rules]
        assert all(texts)
        assert len(set(texts)) == len(texts)
        assert not [text for text in texts if "`" in text or "**" in text]


def test_what_is_only_audited_says_so(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "api_version: evalward/v1\ntargets: {renderer: {allowed: true}}\nconstructs: {network: audit}\n"
    )

    code, run = check("fetch('/x')", tmp_path / "p.js", "--target", "renderer", "--policy", str(policy))

    assert code == 0
    assert [(each["level"], each["ruleId"]) for each in run["results"]] == [("warning", "network")]
    assert "only audits" in run["results"][0]["message"]["text"]


@pytest.mark.parametrize("label", [*CONSTRUCTS, "process.umask", *Code])
def test_every_rule_is_described(label: str) -> None:
    rule = _rule(label)

    assert rule["id"] == label
    assert all(rule[part]["text"].strip() for part in ("shortDescription", "fullDescription", "help"))


def test_an_allow_has_no_result(tmp_path: Path) -> None:
    assert check("1 + 1", tmp_path / "payload.js")[1]["results"] == []
