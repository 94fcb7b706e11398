"""The core of the run-time, asked as a hardened program asks it: in Node, and what needs no host in QuickJS."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from evalward.guard.target import Shape
from evalward.sandbox.evaluate import evaluate

HERE: Final = Path(__file__).parent
NAMED: Final = re.compile(r"\bR([a-z][a-z0-9]{0,4})\b")


@dataclass(frozen=True)
class Case:
    """The body of one hardened program, and its expected outcome."""

    id: str
    profile: str
    before: str
    body: str
    expected: dict[str, Any]
    line: int | None
    in_quickjs: bool

    @property
    def text(self) -> str:
        """The program: its head, and its body on the second line."""
        names = sorted(set(NAMED.findall(self.body)))
        listed = ",".join(f"{name}:R{name}" for name in names)
        config = json.dumps({"source": "", "body": 2, "hosts": {}, "bindings": {}, "prefix": "R"})
        return f"const {{{listed}}}=({built(self.profile)})({config});\n{self.body}"


@cache
def built(profile: str) -> str:
    """Return the run-time of one profile."""
    path = files("evalward.guard.harden") / "built" / f"{profile}.js"
    return path.read_text(encoding="ascii").strip()


def _case(row: dict[str, Any], name: str, profile: str) -> Case:
    expected: dict[str, Any] = {key: row[key] for key in ("value", "denied", "throws") if key in row}
    assert len(expected) == 1, name
    everywhere = profile == "sandbox" and "engines" not in row
    return Case(name, profile, row.get("before", ""), row["body"], expected, row.get("line"), everywhere)


def _cases() -> list[Case]:
    cases = []
    for row in yaml.safe_load((HERE / "core_cases.yaml").read_text(encoding="utf-8")):
        profile = row.get("profile", "sandbox")
        cases.append(_case(row, row["id"], profile))
        if "twin" in row:
            twin = {key: row[key] for key in ("before", "engines") if key in row} | row["twin"]
            cases.append(_case(twin, f"{row['id']} twin", profile))
    return cases


CASES: Final = _cases()


@pytest.fixture(scope="module")
def in_node() -> dict[str, dict[str, Any]]:
    """The outcome of each case in Node, each in a realm of its own."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    request = json.dumps([{"before": case.before, "text": case.text} for case in CASES])
    run = subprocess.run(
        [node, str(HERE / "core_host.js")],
        input=request,
        capture_output=True,
        check=True,
        text=True,
        timeout=120,
    )
    return dict(zip((case.id for case in CASES), json.loads(run.stdout), strict=True))


def test_cases_have_names_of_their_own() -> None:
    assert len({case.id for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_in_node(case: Case, in_node: dict[str, dict[str, Any]]) -> None:
    outcome = in_node[case.id]
    assert outcome.pop("reached") == "[]"
    line = outcome.pop("line", None)
    assert outcome == case.expected
    assert case.line is None or line == case.line


@pytest.mark.parametrize("case", [case for case in CASES if case.in_quickjs], ids=lambda case: case.id)
def test_in_quickjs(case: Case) -> None:
    prelude = f"globalThis.reach = () => {{}};{case.before};"
    run = evaluate(f"{prelude}\n{case.text}".encode(), shape=Shape.SCRIPT)
    if run.ok:
        assert {"value": json.loads(run.result) if run.result else None} == case.expected
    elif run.error_name == "EvalwardDenied":
        assert f"evalward denied {case.expected.get('denied')}" in run.message
    else:
        assert case.expected == {"throws": run.error_name}
