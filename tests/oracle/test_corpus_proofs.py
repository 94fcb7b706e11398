"""corpus verify: escapes must reach the capability that they claim, benign payloads none."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from evalward.cli.corpus_verify import corpus_verify
from evalward.corpus.corpus_case import Case
from evalward.oracle import traps
from evalward.oracle.corpus_proof import capabilities, claimed, verify_cases


def case(name: str, code: str, expect: Any, **fields: Any) -> Case:
    return Case.model_validate({"id": name, "code": code, "target": "sandbox", "expect": expect, **fields})


def status(one: Case) -> tuple[str, str]:
    report = verify_cases([one], workers=1)
    proof = report.targets[0].proofs[0]
    return proof.status, proof.reason


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (case("a", "[].at.constructor('1')", "block", reaches="codegen"), "proven"),
        (case("b", "[].at.constructor('1')", "block", reaches="process"), "failed"),
        (case("b2", "[].at.constructor('1')", "block", reaches="magic"), "failed"),
        (case("c", "1", "block"), "failed"),
        (case("d", "1", "allow"), "clean"),
        (case("e", "[].at.constructor('1')", "allow"), "failed"),
        (case("f", "typeof process.exit", "allow"), "clean"),
        (case("g", "const f = process['ex' + 'it']", "block", reaches="process"), "proven"),
        (case("h", "1", {"balanced": "allow", "strict": "block"}), "unproven"),
        (
            case("i", "(arg) => (() => 1)[arg.k]('1')", "block", shape="function", construct="dynamic-key"),
            "proven",
        ),
        (
            case("j", "(function f() { return arguments.callee })()", "block", construct="arguments.callee"),
            "unproven",
        ),
    ],
    ids=lambda value: value.id if isinstance(value, Case) else str(value),
)
def test_status(one: Case, expected: str) -> None:
    assert expected == status(one)[0], status(one)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"construct": "process.exit"}, {"process"}),
        ({"construct": ["eval()", "string-timer"]}, {"codegen", "timer-string"}),
        ({"construct": "dynamic-key"}, set()),
        ({"construct": ["eval()", "dynamic-key"]}, set()),
        ({"reaches": "prototype"}, {"proto-tampering"}),
        ({}, set()),
    ],
)
def test_claims(fields: dict[str, Any], expected: set[str]) -> None:
    assert expected == claimed(case("x", "1", "block", **fields))


def test_every_capability_that_a_trap_names_is_in_the_table() -> None:
    scripts = Path(traps.__file__).parent.glob("js/*.js")
    text = "".join(script.read_text(encoding="utf-8") for script in scripts)
    named = set(re.findall(r"(?:hit|recorder)\('([a-z-]+)'|trapCalls\([^,]+, '([a-z-]+)'", text))
    assert len(named) > 10
    assert {name for pair in named for name in pair if name} <= capabilities().keys()


def run(path: Path, *options: str) -> Any:
    app = typer.Typer()
    app.command()(corpus_verify)
    return CliRunner().invoke(app, [str(path), *options])


def write(path: Path, *cases: Case) -> None:
    lines = (one.model_dump_json(by_alias=True, exclude_none=True) for one in cases)
    path.write_text("\n".join(lines), encoding="utf-8")


def test_command_prints_shares_and_fails_on_a_false_claim(tmp_path: Path) -> None:
    corpus = tmp_path / "cases.jsonl"
    proven = case("good", "[].at.constructor('1')", "block", reaches="codegen")
    write(corpus, proven)
    assert run(corpus).exit_code == 0
    write(corpus, proven, case("bad", "1", "block", reaches="codegen"))
    answer = run(corpus, "--json")
    assert answer.exit_code == 1
    report = json.loads(answer.stdout)
    assert [failed["id"] for failed in report["failed"]] == ["bad"]
    assert report["targets"]["sandbox"]["by_engine"] == {"quickjs": 1}
    assert report["targets"]["sandbox"]["share"] == 0.5
    assert "failed: bad" in run(corpus).stdout


def test_command_refuses_what_is_no_corpus(tmp_path: Path) -> None:
    assert run(tmp_path / "none.yaml").exit_code == 2


def test_command_can_demand_a_share(tmp_path: Path) -> None:
    corpus = tmp_path / "cases.jsonl"
    write(corpus, case("u", "1", {"balanced": "allow", "strict": "block"}))
    assert run(corpus).exit_code == 0
    assert run(corpus, "--min-share", "0.9").exit_code == 1
