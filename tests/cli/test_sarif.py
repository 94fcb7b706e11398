"""``evalward check --format sarif``: results, places and traces in the form of the standard, and no payload."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

EVALWARD = Path(sys.executable).with_name("evalward")
MARKER = "marker_51c0"


def check(payload: str, file: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    file.write_text(payload)
    command: list[str | Path] = [EVALWARD, "check", file, "--target", "main", "--format", "sarif", *arguments]
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
    ("payload", "rule"), [("((", "EVAL_SYNTAX_ERROR"), ("require('x')", "EVAL_BLOCKED_KEYWORD")]
)
def test_a_denial_without_a_construct_names_its_code(payload: str, rule: str, tmp_path: Path) -> None:
    code, run = check(payload, tmp_path / "payload.js")

    assert code == 1
    assert [result["ruleId"] for result in run["results"]] == [rule]


def test_an_allow_has_no_result(tmp_path: Path) -> None:
    assert check("1 + 1", tmp_path / "payload.js")[1]["results"] == []
