"""How runs of hardened programs are judged: outcome of an escape, sameness of a benign payload."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from evalward.corpus.corpus_case import Case
from evalward.guard.target import Shape, Target
from evalward.oracle.corpus_harden import harden_cases
from evalward.oracle.emission import Emission
from evalward.oracle.hardened_run import Outcome, difference, outcome_of
from evalward.oracle.hits import Engine, EngineRun, Hit
from evalward.oracle.quickjs import QuickJSOracle
from evalward.oracle.traps import OBSERVED

if TYPE_CHECKING:
    from collections.abc import Mapping

DENIES = "throw Object.assign(new Error('evalward denied eval()'), { name: 'EvalwardDenied' })"
ESCAPE = "[].at.constructor('1')"


def case(name: str, code: str, expect: str, **fields: Any) -> Case:
    return Case.model_validate(
        {"id": name, "code": code, "target": "sandbox", "shape": "script", "expect": expect, **fields}
    )


def tried(one: Case, hardened: str | None) -> str:
    def emit(code: str, target: Target, shape: Shape, bindings: Mapping[str, str] | None = None) -> Emission:
        assert (code, target, shape, bindings) == (one.code, one.target, Shape.SCRIPT, {})
        return Emission(hardened, "" if hardened else "not understood")

    return harden_cases([one], emit, workers=1).tried[0].status


@pytest.mark.parametrize(
    ("code", "hardened", "expected"),
    [
        (ESCAPE, ESCAPE, "reached"),
        (ESCAPE, DENIES, "denied"),
        (ESCAPE, "throw 1", "ended"),
        (ESCAPE, "1", "ended"),
        (ESCAPE, None, "refused"),
        ("1", "1", "inert"),
    ],
)
def test_an_escape_is_as_bad_as_its_worst_run(code: str, hardened: str | None, expected: str) -> None:
    assert tried(case("a", code, "block"), hardened) == expected


@pytest.mark.parametrize(
    ("code", "hardened", "expected"),
    [
        ("[1, -0, { a: new Map([[1, 'x']]) }]", "[1, -0, { a: new Map([[1, 'x']]) }]", "same"),
        ("[0]", "[-0]", "different"),
        ("({ a: 1, b: 2 })", "({ b: 2, a: 1 })", "different"),
        ("Object.freeze([1])", "[1]", "different"),
        ("[1].missing()", "([1].other)()", "same"),
        (
            "let e; try { [1].missing() } catch (x) { e = x } e",
            "let e; try { [1].other() } catch (x) { e = x } e",
            "same",
        ),
        ("let e; try { [1].missing() } catch (x) { e = x } e", "new TypeError('a')", "different"),
        ("new Error('a').stack", "(() => new Error('a').stack)()", "same"),
        ("throw new RangeError('a')", "throw new RangeError('b')", "different"),
        ("throw new RangeError('a')", "throw new TypeError('a')", "different"),
        ("console.log('a'); 1", "1", "different"),
        ("kept = 1; 1", "1", "different"),
        ("Math.random() + Date.now()", "const r = Math.random(); r + Date.now()", "same"),
        ("1", DENIES, "denied"),
        ("1", None, "refused"),
        ("1", ESCAPE, "reached"),
    ],
)
def test_a_benign_payload_must_do_the_same(code: str, hardened: str | None, expected: str) -> None:
    assert tried(case("b", code, "allow"), hardened) == expected


def test_the_report_has_the_documented_fields() -> None:
    cases = [case("a", ESCAPE, "block"), case("b", "1", "allow"), case("c", "2", "allow")]
    texts = {ESCAPE: ESCAPE, "1": "1", "2": "3"}
    report = harden_cases(cases, lambda code, *_, **__: Emission(texts[code]), workers=1)
    found = report.to_json()
    assert found["escapes"] | {"reached": []} == {
        "total": 1, "refused": 0, "denied": 0, "ended": 0, "inert": 0, "reached": [],
    }  # fmt: skip
    assert [(each["id"], each["code"]) for each in found["escapes"]["reached"]] == [("a", ESCAPE)]
    assert (found["benign"]["total"], found["benign"]["same"], found["benign"]["denied"]) == (2, 1, [])
    assert [each["id"] for each in found["benign"]["different"]] == ["c"]
    assert [each.case.id for each in report.reached] == ["a"]


def test_a_run_that_only_looks_at_a_member_reaches_nothing() -> None:
    run = EngineRun(Engine.NODE, Shape.SCRIPT, "completed", (Hit("process", "get", "process.exit"),))
    assert outcome_of(run) is Outcome.ENDED


def test_a_page_hears_of_a_write_to_its_location() -> None:
    run = QuickJSOracle(deadline=5).run(
        "location = '/a'; location", Target.RENDERER, Shape.SCRIPT, data=OBSERVED
    )
    record = json.loads(run.record)
    assert (record["value"], record["effects"]) == ("<location>", ['location = "/a"'])


def test_a_url_keeps_its_parts_in_its_class() -> None:
    code = """const url = new URL('../b?c=1#d', 'https://a.test/x/y'); url.hash = 'e'; url.searchParams.set('c', 2);
    [Object.keys(url), url.href, [...url.searchParams.keys()], 'next' in [].values().__proto__]"""
    run = QuickJSOracle(deadline=5).run(code, Target.MAIN, Shape.SCRIPT, data=OBSERVED)
    assert json.loads(run.record)["value"] == 'Array{Array{},"https://a.test/b?c=2#e",Array{"c"},true}'


def test_two_runs_of_one_program_leave_the_same_record() -> None:
    code = "kept = [new Date(), Date(), Math.random(), Symbol('s'), () => 1]; console.log(kept[2]); kept"
    oracle = QuickJSOracle(deadline=5)
    one, other = (oracle.run(code, Target.SANDBOX, Shape.SCRIPT, data=OBSERVED) for _ in range(2))
    assert json.loads(one.record)["value"].startswith("Array{Date{")
    assert difference(one, other) is None
