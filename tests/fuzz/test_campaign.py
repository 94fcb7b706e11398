"""A whole run: a guard with one injected hole, the real guard, and the handling of a miss."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evalward.cli.app import app
from evalward.cli.fuzz import _watch_in_lines
from evalward.codes import Code
from evalward.corpus.corpus_case import load_cases
from evalward.fuzz.axes import AXES
from evalward.fuzz.campaign import Job, run_fuzz
from evalward.fuzz.cases import append_cases
from evalward.fuzz.plan import Plan, Plans
from evalward.fuzz.program_text import Program, compose
from evalward.fuzz.shrink import explains, shrink, significant
from evalward.fuzz.verdict_batches import Answer, Guard, answers
from evalward.guard.target import Profile


class Everything:
    """A prover without an engine: every escape reaches its capability, no benign twin does."""

    def live(self, plan: Plan) -> bool:
        return not plan.benign

    def each(self, plans: Sequence[Plan], proven: Callable[[object], None] = lambda _: None) -> list[bool]:
        for plan in plans:
            proven(plan)
        return [self.live(plan) for plan in plans]


def blind_to_base64(program: Program) -> Answer:
    """A guard that cannot read one gadget."""
    return Answer(None) if "atob(" in program.text else Answer(Code.EVAL_BLOCKED_CONSTRUCT, "any")


def test_a_hole_is_found_and_shrunk_to_what_it_is_about() -> None:
    report = run_fuzz(Job(count=600, seed=1, profile="fake", sample=5), blind_to_base64, Everything())
    assert report.missed > 0
    assert not report.ok
    assert [significant(each.shrunk) for each in report.classes] == [{"gadget": "base64"}]
    assert report.classes[0].count == report.missed
    assert report.families() == [("gadget base64", report.missed)]
    assert report.by_value["gadget"]["base64"]["missed"] == report.missed
    assert report.total == 600 == report.blocked + report.missed
    assert report.sampled == 5 == report.sample_live


@pytest.mark.exhaustive
def test_what_reaches_nothing_is_inert_and_no_miss() -> None:
    class Nothing(Everything):
        def live(self, plan: Plan) -> bool:
            return plan.benign

    report = run_fuzz(Job(count=600, seed=1, profile="fake", sample=0), blind_to_base64, Nothing())
    assert (report.missed, report.ok, report.classes) == (0, True, [])
    assert report.inert > 0


@pytest.mark.exhaustive
def test_a_guard_that_raises_is_no_catch(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise LookupError("gone")

    monkeypatch.setattr("evalward.fuzz.verdict_batches.judge", broken)
    report = run_fuzz(Job(count=3, seed=1, profile="x", sample=0), Guard(Profile.STRICT), Everything())
    assert (report.failed, report.blocked, report.ok) == (3, 0, False)
    assert report.failures[0]["raised"] == "LookupError: gone"


@pytest.mark.exhaustive
def test_limits_are_no_catch() -> None:
    def tired(_: Program) -> Answer:
        return Answer(Code.EVAL_ANALYSIS_LIMIT, "steps")

    report = run_fuzz(Job(count=3, seed=1, profile="x", benign=2, sample=0), tired, Everything())
    assert (report.limited, report.blocked, report.benign_blocked) == (3, 0, 2)


@pytest.mark.exhaustive
def test_shrinking_drops_the_second_layer_and_keeps_what_matters() -> None:
    plans = Plans(2)
    plan = next(
        p
        for p in (plans[plans.covering + i] for i in range(10_000))
        if p.second_carrier is not None and p.second_gadget is not None and p.names()["use"] == "sort"
    )
    shrunk = shrink(plan, lambda p: p.names()["use"] == "sort")
    assert significant(shrunk) == {"use": "sort"}
    assert explains(shrunk, plan)
    assert not explains(plan, shrunk)
    assert shrink(shrunk, lambda _: True).row == (0,) * len(AXES)


@pytest.mark.exhaustive
def test_answers_are_the_same_across_processes() -> None:
    plans = list(Plans(4).first(300))
    alone = [said for _, batch in answers(plans, Guard(Profile.BALANCED), workers=1) for said in batch]
    spread = [said for _, batch in answers(plans, Guard(Profile.BALANCED), workers=2) for said in batch]
    assert alone == spread
    assert len(alone) == 300


@pytest.mark.exhaustive
def test_misses_become_cases_once(tmp_path: Path) -> None:
    report = run_fuzz(Job(count=600, seed=1, profile="fake", sample=0), blind_to_base64, Everything())
    file = tmp_path / "found.yaml"
    assert append_cases(file, report.classes) == 1
    assert append_cases(file, report.classes) == 0
    (case,) = load_cases([file])
    assert case.code == compose(report.classes[0].shrunk).text
    assert (case.expect, case.reaches, case.technique) == ("block", "codegen", "gadget base64")


@pytest.mark.exhaustive
def test_the_command_reports_reach_and_exits_by_what_it_found() -> None:
    arguments = ["fuzz", "--count", "120", "--benign", "60", "--sample", "10", "--workers", "1", "--json"]
    done = CliRunner().invoke(app, arguments)
    found = json.loads(done.stdout)
    assert done.exit_code == (1 if found["missed"] or found["failed"] else 0)
    accounted = sum(found[part] for part in ("blocked", "limited", "inert", "missed", "failed"))
    assert found["total"] == 120 == accounted
    assert found["sample"] == {"size": 10, "live": 10}
    assert found["benign"]["total"] == 60
    assert found["benign"]["sample"] == {"size": 10, "reaching": 0}
    assert set(found["axes"]) == set(AXES)
    assert 0 < found["pairs"]["covered"] < found["pairs"]["possible"]


def test_the_command_wants_a_corpus_file() -> None:
    done = CliRunner().invoke(app, ["fuzz", "--count", "1", "--out", "cases.txt"])
    assert done.exit_code == 2


def test_in_the_background_progress_is_a_line_a_minute(capsys: pytest.CaptureFixture[str]) -> None:
    times = iter([0.0, 30.0, 61.0, 62.0, 3661.0])
    watch = _watch_in_lines(lambda: next(times))

    for done in (250, 500, 750, 1000):
        watch("judging", done, 1000)

    assert capsys.readouterr().err.splitlines() == [
        "61 s: judging, 500 of 1,000",
        "3,661 s: judging, 1,000 of 1,000",
    ]
