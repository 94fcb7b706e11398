"""P' does what P does: the programs of ``programs.yaml``, with a run-time without checks and with the sandbox's."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from evalward.guard.harden.emit import Emission, emitted, head_names
from evalward.guard.harden.harden import harden_payload
from evalward.guard.harden.outcome import Hardened, NotHardenable
from evalward.guard.syntax.shapes import declared
from evalward.guard.target import Shape, Target

if TYPE_CHECKING:
    from collections.abc import Callable, Container

HERE = Path(__file__).parent
PREFIX = "Rq7"
NAIVE = " ".join((HERE / "naive_runtime.js").read_text(encoding="utf-8").splitlines()[1:])


def _cases() -> dict[str, dict[str, tuple[str, Shape]]]:
    found: dict[str, dict[str, tuple[str, Shape]]] = {}
    groups: dict[str, list[Any]] = yaml.safe_load((HERE / "programs.yaml").read_text(encoding="utf-8"))
    for group, cases in groups.items():
        entries = [case if isinstance(case, dict) else {"code": case, "shape": "script"} for case in cases]
        found[group] = {
            f"{group}-{number}": (entry["code"], Shape(entry["shape"]))
            for number, entry in enumerate(entries)
        }
    return found


CASES = _cases()
REFUSED: list[dict[str, str]] = yaml.safe_load((HERE / "refused_programs.yaml").read_text(encoding="utf-8"))
# A global that a script declares can be deleted; the initializer of a for-in loop is refused.
DIFFERENT = frozenset({"operators-11", "annex_b-18", "annex_b-19"})


def naive(code: str, shape: Shape) -> str:
    """Return P' of a program with the run-time that checks nothing."""
    programs = declared(code.encode(), shape, 65_536)
    assert isinstance(programs, tuple), f"{code}: {programs}"
    made = emitted(programs[0], shape, PREFIX)
    assert isinstance(made, Emission), f"{code}: {made}"
    names, spoken = head_names(made, PREFIX)
    config = json.dumps({"source": code, "prefix": PREFIX})
    return made.text(f"const {{{names}}}=({NAIVE})({config}){spoken};")


def hardened(code: str, shape: Shape) -> str:
    """Return P' of a program with the run-time of the sandbox."""
    made = harden_payload(code.encode(), target=Target.SANDBOX, shape=shape, prefix=PREFIX)
    assert isinstance(made, Hardened), f"{code}: {made}"
    return made.text.decode("ascii")


def run_pairs(pairs: list[dict[str, str]]) -> dict[str, list[dict[str, str]]]:
    """Run pairs of programs in Node."""
    node = shutil.which("node")
    assert node is not None
    done = subprocess.run(
        [node, "--no-warnings", str(HERE / "run_programs.js")],
        input=json.dumps(pairs),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    reports: dict[str, list[dict[str, str]]] = json.loads(done.stdout)
    return reports


def _compared(group: str, emit: Callable[[str, Shape], str], skipped: Container[str] = ()) -> None:
    cases = {name: case for name, case in CASES[group].items() if name not in skipped}
    reports = run_pairs(
        [
            {"id": name, "before": code, "after": emit(code, shape), "shape": shape}
            for name, (code, shape) in cases.items()
        ]
    )
    different = {}
    for name, (before, after) in reports.items():
        if {**before, "message": ""} != {**after, "message": ""}:
            different[cases[name][0]] = before, after
    assert not different


@pytest.mark.parametrize("group", CASES)
def test_emission_alone_preserves_meaning(group: str) -> None:
    _compared(group, naive)


@pytest.mark.parametrize("group", CASES)
def test_the_sandbox_preserves_meaning(group: str) -> None:
    _compared(group, hardened, DIFFERENT)


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case["code"])
def test_programs_that_are_refused(case: dict[str, str]) -> None:
    made = harden_payload(
        case["code"].encode(),
        target=Target.SANDBOX,
        shape=Shape(case.get("shape", "script")),
        prefix=PREFIX,
    )
    assert isinstance(made, NotHardenable)
    assert made.reason
    assert made.construct == case.get("construct", made.construct)
    assert made.kind == case.get("kind", made.kind)


def test_deep_programs_are_refused() -> None:
    for code in ("[" * 900 + "]" * 900, "x=>" * 700 + "1", "{" * 1500 + "}" * 1500, "-" * 3001 + "1"):
        made = harden_payload(code.encode(), target=Target.SANDBOX, shape=Shape.SCRIPT, prefix=PREFIX)
        assert isinstance(made, NotHardenable)


def test_long_chains_are_hardened() -> None:
    for code in (
        "1" + "+1" * 2000,
        "x" + ".a()" * 1000,
        "if(0);" + "else if(0);" * 500,
        "0" + "?1:0" * 500,
        "1" + ",1" * 900,
    ):
        assert ";" in hardened(code, Shape.SCRIPT)


def test_each_statement_keeps_its_line() -> None:
    code = "\n\nlet a = 1\n\nfunction f() {\n  return a +\n 2\n}\n// c\n\nf(\n)\nclass A {\n\n  m() {\n} }"
    made = harden_payload(code.encode(), target=Target.SANDBOX, shape=Shape.SCRIPT, prefix=PREFIX)
    assert isinstance(made, Hardened)
    for text in (made.text, made.body):
        lines = text.decode("ascii").split("\n")
        begins = {3: "let Rq7", 5: "function Rq7", 6: "return", 11: "Rq7", 13: "let Rq7", 15: "m("}
        assert {
            number: lines[number - 1].startswith(begin) for number, begin in begins.items()
        } == dict.fromkeys(begins, True)


@pytest.mark.parametrize("name", CASES["functions"])
def test_two_prefixes_differ_in_nothing_else(name: str) -> None:
    code, shape = CASES["functions"][name]
    texts = []
    for prefix in ("Rq7", "Sx8"):
        made = harden_payload(code.encode(), target=Target.SANDBOX, shape=shape, prefix=prefix)
        assert isinstance(made, Hardened)
        texts.append(made.body.decode("ascii").replace(prefix, "R"))
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    ("sink", "code", "shape"),
    [
        ("playwright.evaluate", "() => document.title", Shape.FUNCTION),
        ("playwright.evaluate", "document.title", Shape.SCRIPT),
        ("playwright.evaluate", "let a = 1; a", Shape.SCRIPT),
    ],
)
def test_the_shape_for_a_sink(sink: str, code: str, shape: Shape) -> None:
    made = harden_payload(code.encode(), target=Target.RENDERER, shape=None, sink=sink, prefix=PREFIX)
    assert isinstance(made, Hardened), made
    assert made.shape is shape
