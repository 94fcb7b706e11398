"""``evalward policy``: check, schema, suggest."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import jsonschema
import pytest
import yaml
from typer.testing import CliRunner

from evalward.cli.app import app
from evalward.policy import parse_policy, utc_day

RUNNER = CliRunner()
DATA = Path(__file__).parents[1] / "data/policy"
HASH = "ab" * 32
CASES = {
    "targets: {renderer: {allowed: true}}": [],
    "profile: strict": ["targets: no target"],
    "targets: {main: {allowed: true}}": ["targets.main: main has the rights"],
    "targets: {renderer: {allowed: true, profile: seed}}\nallow_weak: true": [
        "targets.renderer: the profile seed"
    ],
    "targets: {renderer: {allowed: true}}\nenforcement: audit": ["enforcement: audit has no end"],
    "targets: {renderer: {allowed: true}}\nenforcement: {mode: audit, until: 2020-01-01}": ["audit ended on"],
    "targets: {renderer: {allowed: true}}\nconstructs: {network: allow}": [
        "constructs.network: allow is the default"
    ],
    "targets: {renderer: {allowed: true}}\nblocklist: {mode: substring}": ["blocklist.mode: substring"],
}


def written(folder: Path, text: str) -> str:
    """Write a policy and return its path."""
    file = folder / "policy.yaml"
    file.write_text(f"api_version: evalward/v1\n{text}\n", encoding="utf-8")
    return str(file)


@pytest.mark.parametrize(("text", "warnings"), CASES.items())
def test_check_warns_of_what_is_valid_but_odd(tmp_path: Path, text: str, warnings: list[str]) -> None:
    file = written(tmp_path, text)
    plain = RUNNER.invoke(app, ["policy", "check", file])
    strict = RUNNER.invoke(app, ["policy", "check", file, "--strict", "--json"])
    assert plain.exit_code == 0
    assert plain.stdout.startswith("valid, digest ")
    for warning in warnings:
        assert warning in plain.stderr
    report = json.loads(strict.stdout)
    assert report["valid"]
    assert len(report["warnings"]) == len(warnings)
    assert strict.exit_code == (1 if warnings else 0)


def exceptions(days: int) -> str:
    """Return a policy with one exception that expires ``days`` from today."""
    day = utc_day() + timedelta(days)
    return (
        "targets: {renderer: {allowed: true}}\nexceptions:\n"
        f'- {{sha256: "{HASH}", targets: [renderer], constructs: [eval()], reason: r, owner: o, expires: {day}}}'
    )


@pytest.mark.parametrize(
    ("days", "says"), [(-1, "expired on"), (0, "expires on"), (30, "expires on"), (31, "")]
)
def test_check_warns_before_an_exception_expires(tmp_path: Path, days: int, says: str) -> None:
    result = RUNNER.invoke(app, ["policy", "check", written(tmp_path, exceptions(days))])
    assert result.exit_code == 0
    assert says in result.stderr
    assert bool(says) == bool(result.stderr)


@pytest.mark.parametrize(
    ("written_in", "drafted"), [("reason: r", "reason: CHANGE ME"), ("owner: o", "owner: CHANGE ME")]
)
def test_check_warns_of_a_draft_that_nobody_filled_in(tmp_path: Path, written_in: str, drafted: str) -> None:
    draft = exceptions(31).replace(written_in, drafted)
    result = RUNNER.invoke(app, ["policy", "check", written(tmp_path, draft)])
    assert result.exit_code == 0
    assert "exceptions.0" in result.stderr
    assert "still CHANGE ME" in result.stderr


def test_check_names_every_error(tmp_path: Path) -> None:
    file = written(tmp_path, "profile: lax\nlimits: {depth: -1}")
    result = RUNNER.invoke(app, ["policy", "check", file, "--json"])
    report = json.loads(result.stdout)
    assert result.exit_code == 1
    assert {each["field"] for each in report["errors"]} == {"profile", "limits.depth"}
    assert report["digest"] is None


def test_the_schema_accepts_what_is_valid() -> None:
    schema = json.loads(RUNNER.invoke(app, ["policy", "schema"]).stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    for file in (DATA / "valid").glob("*.y*ml"):
        document = json.loads(json.dumps(yaml.safe_load(file.read_text(encoding="utf-8")), default=str))
        jsonschema.validate(document, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"api_version": "evalward/v1", "profiel": "strict"}, schema)


def test_suggest_drafts_exceptions_that_load(tmp_path: Path) -> None:
    log = tmp_path / "audit.jsonl"
    denied = {
        "kind": "decision",
        "target": "renderer",
        "hash_alg": "sha256",
        "code_hash": HASH,
        "construct": "eval()",
    }
    lines = [
        denied,
        {**denied, "construct": None, "keyword": "eval(", "tool": "run"},
        {**denied, "code_hash": "cd" * 32, "construct": "parser-ambiguity"},
        {**denied, "code_hash": "0" * 64, "hash_alg": "hmac-sha256:0123456789abcdef"},
        {"kind": "start"},
        {"kind": "decision", "target": "renderer", "code_hash": "ef" * 32},
    ]
    log.write_text("\n".join(map(json.dumps, lines)) + "\ntorn", encoding="utf-8")
    result = RUNNER.invoke(app, ["policy", "suggest", str(log)])
    assert result.exit_code == 0
    assert "line 7 is not a record" in result.stderr
    assert "# denied 2 times" in result.stdout
    (entry,) = yaml.safe_load(result.stdout)["exceptions"]
    assert entry["sha256"] == HASH
    assert entry["constructs"] == ["eval()", "keyword:eval("]
    parse_policy({"api_version": "evalward/v1", "exceptions": [entry]}, source="suggested")
    assert "no payload" in RUNNER.invoke(app, ["policy", "suggest", str(log), "--least", "3"]).stderr


def test_the_schema_of_cases_accepts_the_corpus() -> None:
    schema = json.loads(RUNNER.invoke(app, ["corpus", "schema"]).stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    folder = Path(__file__).parents[2] / "corpus"
    for file in sorted(folder.glob("*/*.yaml"))[:3]:
        jsonschema.validate(yaml.safe_load(file.read_text(encoding="utf-8")), schema)
