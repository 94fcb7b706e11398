"""benchmarks/validate.py runs, prints its documented output, and measures the documented payloads."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evalward import Policy, Target, validate

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"
NODE_GUARDS = BENCHMARKS / "node_guards"
ROW = {
    *("load", "style", "size", "bytes", "code"),
    *("validate_us", "parse_us", "acorn_us", "js_x_ray_us", "repeated_us"),
    *("validate_over_parse", "validate_over_acorn", "validate_over_js_x_ray", "validate_over_repeated"),
}

sys.path.insert(0, str(BENCHMARKS))

from payload_sets import SIZES, Payload, all_payloads  # noqa: E402 - a script's own folder, as Python adds it

needs_packages = pytest.mark.skipif(
    not (NODE_GUARDS / "node_modules").is_dir(), reason="npm ci was not run in benchmarks/node_guards"
)


def run(*arguments: str) -> str:
    """Return what the benchmark prints."""
    command = [
        sys.executable,
        str(BENCHMARKS / "validate.py"),
        "--rounds",
        "1",
        "--sizes",
        "100 B",
        *arguments,
    ]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


def test_json_has_the_promised_keys() -> None:
    result = json.loads(run("--json", "--no-node"))

    assert {"environment", "rounds", "payloads", "median_ratios"} == set(result)
    assert [set(row) for row in result["payloads"]] == [ROW] * 4
    assert all(row["validate_us"] > 0 and row["validate_over_parse"] > 0 for row in result["payloads"])
    assert all(row["repeated_us"] > 0 and row["validate_over_repeated"] > 1 for row in result["payloads"])
    assert result["environment"]["verdict_cache"] is False


def test_without_json_it_prints_a_table() -> None:
    lines = run("--no-node").splitlines()

    assert len([line for line in lines if line.startswith(("| ordinary", "| loaded"))]) == 4


@pytest.mark.exhaustive
@needs_packages
def test_the_guards_in_node_are_measured_in_the_same_run() -> None:
    result = json.loads(run("--json"))

    assert result["environment"]["node_guards"] == ["acorn", "js-x-ray"]
    for guard in ("acorn", "js_x_ray"):
        assert all(row[f"{guard}_us"] > 0 and row[f"validate_over_{guard}"] > 0 for row in result["payloads"])


@needs_packages
@pytest.mark.parametrize(
    ("code", "construct"),
    [
        ("process . exit ( 0 )", "process.exit"),
        ("process['exit'](0)", "process.exit"),
        ("globalThis['Function']('1')", "Function()"),
        ("[].constructor.constructor('1')()", ".constructor.constructor"),
        ("import('fs')", "import()"),
        ("globalThis['pro'+'cess']['ex'+'it']()", None),
        ("const f = Function; f('1')()", None),
        ("process['exit'](0) +", None),
    ],
)
def test_the_acorn_guard_answers_as_the_seed_guard(code: str, construct: str | None) -> None:
    assert answer("acorn", code).get("construct") == construct


@needs_packages
@pytest.mark.parametrize(("code", "allowed"), [("const a = [1].map((x) => x)", True), ("eval('1')", False)])
def test_js_x_ray_answers_with_its_warnings(code: str, *, allowed: bool) -> None:
    assert answer("js-x-ray", code)["allowed"] is allowed


def answer(guard: str, code: str) -> dict[str, Any]:
    """Return what a guard in Node says of one payload."""
    script = f"import('./{guard}.mjs').then((g) => console.log(JSON.stringify(g.judge({json.dumps(code)}))))"
    done = subprocess.run(["node", "-e", script], cwd=NODE_GUARDS, capture_output=True, text=True, check=True)
    said: dict[str, Any] = json.loads(done.stdout)
    return said


@pytest.mark.sampled(5)
@pytest.mark.parametrize("payload", all_payloads(), ids=lambda p: f"{p.load}-{p.style}-{p.size}")
def test_every_payload_has_its_size_and_is_allowed(payload: Payload) -> None:
    verdict = validate(payload.code, target=payload.target, policy=Policy.default().allowing(Target))

    assert 0.84 * SIZES[payload.size] <= len(payload.code) <= SIZES[payload.size]
    assert (verdict.code, verdict.construct) == (None, None)
