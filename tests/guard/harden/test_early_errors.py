"""Early errors: V8 rejects what the table calls invalid, accepts its twins, and accepts whatever is accepted here."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from guard_cases import cases

from evalward.guard.harden.early_errors import EarlyError, early_error
from evalward.guard.harden.node_kinds import unknown_node
from evalward.guard.syntax.shapes import Rejection, programs_of
from evalward.guard.target import Shape

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="needs node")
STRICT = '"use strict"; '
CORPUS = Path(__file__).parents[3] / "corpus" / "benign"
# The inspector compiles without running; `vm` would decorate errors, which fails on some broken texts.
SCRIPT = r"""
const vm = require('vm');
const { Session } = require('inspector');
const session = new Session();
session.connect();
session.post('Runtime.enable');
const wrap = {
  script: code => code, async_body: code => `(async function () {\n${code}\n})()`,
  expression: code => `(${code}\n)`, function: code => `(${code}\n)()`,
};
const accepts = ([code, shape]) => {
  let accepted = true;
  if (shape === 'module') {
    try { new vm.SourceTextModule(code); } catch { accepted = false; }
    return accepted;
  }
  const asked = { expression: wrap[shape](code), sourceURL: 'payload.js', persistScript: false };
  session.post('Runtime.compileScript', asked, (error, found) => { accepted = !error && !found.exceptionDetails; });
  return accepted;
};
console.log(JSON.stringify(JSON.parse(require('fs').readFileSync(0, 'utf8')).map(accepts)));
"""


def v8_accepts(rows: list[tuple[str, str]]) -> list[bool]:
    assert NODE is not None
    done = subprocess.run(
        [NODE, "--experimental-vm-modules", "--no-warnings", "-e", SCRIPT],
        input=json.dumps(rows),
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    accepted: list[bool] = json.loads(done.stdout)
    return accepted


def refusal(code: str, shape: str) -> str | None:
    """Say why hardening would refuse a text, or None."""
    programs = programs_of(code.encode(), Shape(shape), limit_bytes=131_072)
    if isinstance(programs, Rejection):
        return "no program"
    for program in programs:
        unknown = unknown_node(program)
        if unknown is not None:
            return unknown.type
        found = early_error(program)
        if found is not None:
            assert 0 <= found.start <= found.end <= len(code.encode())
            assert found.message
            return found.message
    return None


def table(kind: str, shape: str = "script", before: str = "") -> list[tuple[str, str]]:
    return [
        (before + code, shape) for code in cases("harden/early_errors")[kind] if not (before and "#!" in code)
    ]


VALID = [
    *table("valid"),
    *table("valid", before=STRICT),
    *table("sloppy"),
    *table("body_valid", "async_body"),
    *table("module_valid", "module"),
]
INVALID = [
    *table("invalid"),
    *table("invalid", before=STRICT),
    *table("sloppy", before=STRICT),
    *table("body_invalid", "async_body"),
    *table("module_invalid", "module"),
]


def test_valid_programs_are_accepted() -> None:
    assert [(row, why) for row in VALID if (why := refusal(*row)) is not None] == []


def test_invalid_programs_are_refused() -> None:
    assert [row for row in INVALID if refusal(*row) is None] == []


def test_programs_that_only_some_engines_accept_are_refused() -> None:
    assert [row for row in table("refused") if refusal(*row) is None] == []


@needs_node
def test_v8_says_the_same_of_the_table() -> None:
    rows = VALID + INVALID
    expected = [True] * len(VALID) + [False] * len(INVALID)
    wrong = [row for row, want, got in zip(rows, expected, v8_accepts(rows), strict=True) if want is not got]
    assert wrong == []


def test_the_place_is_that_of_the_payload() -> None:
    programs = programs_of(b"let \xc3\xa9, a;\nlet a", Shape.ASYNC_BODY, limit_bytes=131_072)
    assert not isinstance(programs, Rejection)
    found = early_error(programs[0])
    assert isinstance(found, EarlyError)
    assert b"let \xc3\xa9, a;\nlet a"[found.start : found.end] == b"a"


def test_deep_programs_end_without_recursion() -> None:
    depth = 900
    for code in (
        "(" * depth + "1" + ")" * depth,
        "[" * depth + "]" * depth,
        "a=>" * depth + "1",
        "{" * depth + "}" * depth,
    ):
        assert refusal(code, "script") is None


def corpus() -> list[tuple[str, str]]:
    files = [yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader) for path in sorted(CORPUS.glob("*.yaml"))]
    return [(row["code"], row.get("shape") or "script") for file in files for row in file if row.get("code")]


@needs_node
@pytest.mark.parametrize(
    "share", [0, *(pytest.param(share, marks=pytest.mark.exhaustive) for share in range(1, 16))]
)
def test_every_benign_program_that_v8_accepts_is_accepted(share: int) -> None:
    rows = known_to_v8(corpus()[share::16])
    wrong = [
        row for row, valid in zip(rows, v8_accepts(rows), strict=True) if valid is not (refusal(*row) is None)
    ]
    assert wrong == []


def known_to_v8(rows: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the rows without those that declare with ``using``, where Node's V8 does not know it."""
    if v8_accepts([("{ using x = null; }", "script")]) == [True]:
        return rows
    return [row for row in rows if not re.search(r"\busing\b", row[0])]


TOKEN = re.compile(
    r"""/\*[\s\S]*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`"""
    r"""|[A-Za-z_$#][\w$]*|\d[\w.]*|\.\.\.|\?\.|=>|[-+*/%&|^<>=!?]+|\s+|."""
)
PIECES = cases("harden/early_errors")["pieces"]


def mutants(seed: int, count: int) -> list[tuple[str, str]]:
    choose = random.Random(seed)
    sources = [row for row in corpus() if len(row[0]) < 1_500]
    sources += [row for row in (*VALID, *INVALID) for _ in range(2)]
    rows = []
    for _ in range(count):
        code, shape = choose.choice(sources)
        tokens = TOKEN.findall(code)
        for _ in range(choose.choice((1, 1, 1, 2, 3))):
            _mutate(tokens, choose)
        if choose.random() < 0.1:
            shape = choose.choice(("script", "async_body", "expression"))
        rows.append(("".join(tokens), shape))
    # Node compiles modules only with `vm`, which ends the process over some broken texts.
    return [row for row in rows if row[1] != "module"]


def _mutate(tokens: list[str], choose: random.Random) -> None:
    if not tokens:
        return
    at, how = choose.randrange(len(tokens)), choose.random()
    if how < 0.25:
        del tokens[at]
    elif how < 0.5:
        tokens.insert(at, choose.choice(PIECES))
    elif how < 0.7:
        tokens[at] = choose.choice(PIECES)
    elif how < 0.85:
        tokens.insert(at, choose.choice(tokens))
    else:
        other = choose.randrange(len(tokens))
        tokens[at], tokens[other] = tokens[other], tokens[at]


def check_mutants(seed: int, count: int) -> None:
    rows = known_to_v8(mutants(seed, count))
    verdicts = [refusal(*row) is None for row in rows]
    accepted = v8_accepts(rows)
    assert [
        row for row, mine, theirs in zip(rows, verdicts, accepted, strict=True) if mine and not theirs
    ] == []
    # And the check is no wall: nearly all that V8 accepts passes, but for html-like comments and contextual names.
    valid = sum(accepted)
    assert sum(map(bool.__and__, verdicts, accepted)) > 0.9 * valid > 0


@needs_node
def test_no_mutant_that_v8_rejects_is_accepted() -> None:
    check_mutants(1, 800)


@pytest.mark.exhaustive
@needs_node
@pytest.mark.parametrize("seed", range(2, 8))
def test_no_mutant_of_many_that_v8_rejects_is_accepted(seed: int) -> None:
    check_mutants(seed, 15_000)
