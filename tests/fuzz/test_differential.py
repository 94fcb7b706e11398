"""Texts that V8 and the guard's grammar might parse differently: stored, generated, and with an injected hole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from evalward.cli.app import app
from evalward.fuzz.differential import differences as run_module
from evalward.fuzz.differential.compose import MAX_PROBES, compose, numbered
from evalward.fuzz.differential.differences import differences, is_confirmed, run_syntax_fuzz
from evalward.fuzz.differential.reading import Reading, read
from evalward.fuzz.differential.v8 import missing, run_in_v8
from evalward.guard.target import Shape

if TYPE_CHECKING:
    from collections.abc import Callable

STORED: list[str] = json.loads(
    (Path(__file__).parent / "data" / "syntax-texts.json").read_text(encoding="utf-8")
)
BATCH = 250
needs_node = pytest.mark.skipif(missing() is not None, reason=f"V8 cannot be asked: {missing()}")


@pytest.mark.sampled(10)
@needs_node
@pytest.mark.parametrize("begin", range(0, len(STORED), BATCH))
def test_no_stored_text_hides_from_the_guard_what_v8_runs(begin: int) -> None:
    texts = STORED[begin : begin + BATCH]
    runs = run_in_v8(texts)

    found = [each for text, ran in zip(texts, runs, strict=True) for each in differences(text, ran)]

    assert [each for each in found if is_confirmed(each)] == []
    # A text that no longer runs proves nothing.
    assert sum(any(ran.values()) for ran in runs) >= 0.9 * len(texts)


@pytest.mark.exhaustive
@needs_node
def test_no_fresh_text_hides_from_the_guard_what_v8_runs() -> None:
    report = run_syntax_fuzz(2_500, seed=2_026)

    assert report.findings == []
    assert report.running > 200
    assert set(report.accepted_by_shape) == {"undeclared", *Shape}


def test_the_same_seed_gives_the_same_texts() -> None:
    assert [compose(3, number) for number in range(50)] == [compose(3, number) for number in range(50)]
    assert compose(3, 1) != compose(4, 1)


def test_every_text_has_a_probe_and_no_two_share_a_name() -> None:
    assert all("P0" in compose(7, number) for number in range(300))
    assert numbered("P;P();PP") == "P0;P1();PP"
    assert numbered("P;" * 20).count(f"P{MAX_PROBES - 1};") == 9


@needs_node
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("P0", {shape: {"P0"} for shape in Shape} | {Shape.FUNCTION: {"P0", "P0()"}}),
        ("P0; 'P1'", {shape: {"P0"} for shape in (Shape.SCRIPT, Shape.ASYNC_BODY, Shape.MODULE)}),
        ("await P0", {Shape.ASYNC_BODY: {"P0"}, Shape.MODULE: {"P0"}}),
        ("() => P0()", {shape: set() for shape in Shape} | {Shape.FUNCTION: {"P0", "P0()"}}),
        ("return P0", {Shape.ASYNC_BODY: {"P0"}}),
        ("await /P0/g", {shape: {"P0"} for shape in Shape} | {Shape.ASYNC_BODY: set(), Shape.MODULE: set()}),
        ("for (;;) P0", {shape: {"P0"} for shape in (Shape.SCRIPT, Shape.ASYNC_BODY, Shape.MODULE)}),
        ("P0 P1", {}),
    ],
)
def test_v8_says_which_probes_run_in_which_shape(text: str, expected: dict[Shape, set[str]]) -> None:
    assert run_in_v8([text]) == [{shape: frozenset(ran) for shape, ran in expected.items()}]


@needs_node
def test_what_one_text_declares_is_no_fault_of_the_next() -> None:
    assert [len(ran) for ran in run_in_v8(["let z = P0", "let z = P0", "class z {}; P0"])] == [3, 3, 3]


@pytest.mark.parametrize(
    ("text", "refused", "probes"),
    [
        ("x(P0(), 'P1', /P2/)", None, {"P0", "P0()"}),
        ("new P0", None, {"P0", "P0()"}),
        ("a = {P0, P1: 1}", None, {"P0"}),
        ("P0`t`", None, {"P0", "P0()"}),
        ("<a>{P0}</a>", "parser-ambiguity", {"P0"}),
        ("P0 P1", "syntax", None),
    ],
)
def test_the_reading_lists_what_is_code(text: str, refused: str | None, probes: set[str] | None) -> None:
    reading = read(text, Shape.SCRIPT)

    assert reading.refused == refused
    assert reading.probes == ({} if probes is None else {Shape.SCRIPT: frozenset(probes)})


def blind(text: str, shape: Shape | None) -> Reading:
    """Read like a guard without division after a name."""
    reading = read(text, shape)
    kept = {
        each: frozenset(probe for probe in probes if f"a/{probe}" not in text)
        for each, probes in reading.probes.items()
    }
    return Reading(None, kept, quiet=False)


@pytest.mark.exhaustive
@needs_node
def test_a_hole_is_found_and_shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "read", blind)
    monkeypatch.setattr(run_module, "compose", lambda _seed, number: f"b; {{ c(1); a/P0/g }} d[{number}]")

    report = run_syntax_fuzz(3, seed=1)

    assert (report.texts, report.found, report.ok) == (3, 3, False)
    assert {(each.kind, each.text, each.probe) for each in report.findings} == {("hidden", "{a/P0}", "P0")}


@needs_node
@pytest.mark.parametrize(("reader", "code"), [(read, 0), (blind, 1)])
def test_the_command_says_what_it_found(
    reader: Callable[..., Reading], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "read", reader)
    monkeypatch.setattr(run_module, "compose", lambda _seed, _number: "a/P0/g")

    done = CliRunner().invoke(app, ["fuzz-syntax", "--count", "1", "--json"])
    said: dict[str, Any] = json.loads(done.stdout)
    lines = CliRunner().invoke(app, ["fuzz-syntax", "--count", "1"]).stdout.splitlines()

    assert (done.exit_code, said["found"], said["accepted_by_v8"]) == (code, code, 1)
    assert lines[0].startswith("1 texts, seed 1")
    assert any(line.startswith("hidden") for line in lines) is bool(code)


def test_without_node_the_command_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")

    done = CliRunner().invoke(app, ["fuzz-syntax"])

    assert (done.exit_code, "node is not installed" in done.stderr) == (3, True)
