"""The capabilities that each engine reports for payloads whose effect is known."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from evalward.guard.target import Shape, Target
from evalward.oracle import Engine, Oracles
from evalward.oracle.chromium import ChromiumOracle
from evalward.oracle.node import NodeOracle
from evalward.oracle.reach import ENGINES_OF

if TYPE_CHECKING:
    from collections.abc import Iterator

CASES = yaml.safe_load((Path(__file__).parents[1] / "data/oracle/reaches.yaml").read_text(encoding="utf-8"))
# CI installs both; on a machine without one, corpus verify reports the missing engine.
needs_node = pytest.mark.skipif(NodeOracle.missing() is not None, reason="node is not installed")
needs_chromium = pytest.mark.skipif(ChromiumOracle.missing() is not None, reason="chromium is not installed")
MARKS = {Engine.NODE: [needs_node], Engine.CHROMIUM: [needs_chromium], Engine.QUICKJS: []}


def expectations() -> Iterator[Any]:
    for case in CASES:
        target = Target(case["target"])
        for engine in ENGINES_OF[target]:
            if not case["reaches"] or engine in case["engines"]:
                name = f"{engine}-{case['code'][:50]}"
                yield pytest.param(case, target, engine, id=name, marks=MARKS[engine])


@pytest.fixture(scope="module")
def oracles() -> Iterator[Oracles]:
    # Generous: only a payload that never ends reaches it, and other programs may use the cores.
    with Oracles(deadline=5) as opened:
        yield opened


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("case", "target", "engine"), list(expectations()))
def test_sees_what_is_reached(oracles: Oracles, case: dict[str, Any], target: Target, engine: Engine) -> None:
    run = oracles.oracle(engine).run(case["code"], target, Shape(case["shape"]))
    reached = {hit.capability for hit in run.hits if hit.op != "get"}
    if case["reaches"]:
        assert set(case["reaches"]) <= reached, run
    else:
        assert reached == set(), run


@needs_node
def test_a_payload_that_kills_node_costs_one_run(oracles: Oracles) -> None:
    node = oracles.oracle(Engine.NODE)
    bomb = node.run("const a = []; for (;;) a.push(new Array(1e6).fill(1.5))", Target.MAIN, Shape.SCRIPT)
    assert bomb.ending in {"crashed", "deadline"}
    assert node.run("1", Target.MAIN, Shape.SCRIPT).ending == "completed"


@pytest.mark.exhaustive
@needs_chromium
def test_a_page_that_hangs_or_leaves_costs_one_run(oracles: Oracles) -> None:
    chromium = oracles.oracle(Engine.CHROMIUM)
    for code in ("for (;;);", "location = '/elsewhere'; for (let i = 0; i < 1e6; i++);", "window.close()"):
        chromium.run(code, Target.RENDERER, Shape.SCRIPT)
        after = chromium.run("document.title", Target.RENDERER, Shape.SCRIPT)
        assert (after.ending, after.hits) == ("completed", ())


def test_an_undeclared_shape_is_run_in_every_shape_that_it_may_have(oracles: Oracles) -> None:
    report = oracles.reached("return [].at.constructor('1')", Target.SANDBOX)
    assert "codegen" in report.reached
    assert {Shape.SCRIPT, Shape.EXPRESSION, Shape.ASYNC_BODY, Shape.FUNCTION} == {
        r.shape for r in report.runs
    }


def test_the_report_says_who_saw_what(oracles: Oracles) -> None:
    report = oracles.reached("typeof process.exit; [].at.constructor('1')", Target.SANDBOX, Shape.SCRIPT)
    document = report.to_json()
    assert (document["reached"], document["touched"]) == (["codegen"], ["process"])
    assert document["seen_by"] == {"codegen": ["quickjs"], "process": ["quickjs"]}


def test_the_log_is_frozen_before_anything_is_serialised(oracles: Oracles) -> None:
    code = "({ toJSON() { process.kill(1) }, get [Symbol.toPrimitive]() { process.kill(2) } })"
    run = oracles.oracle(Engine.QUICKJS).run(code, Target.SANDBOX, Shape.EXPRESSION)
    assert run.hits == ()
