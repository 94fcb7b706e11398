"""The verdict cache: the same answers as without it, never one of another policy, in bounded memory."""

from __future__ import annotations

import gc
import itertools
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from evalward import (
    Code,
    Finding,
    Location,
    Policy,
    Profile,
    Shape,
    Target,
    TraceStep,
    Verdict,
    VerdictCache,
    validate,
)
from evalward.corpus.corpus_case import load_cases
from evalward.guard import judge
from evalward.guard.rules import Action, BlocklistMode, Keyword, Limits, Rules
from evalward.judging.verdict_cache import rules_digest

CORPUS = Path(__file__).parents[2] / "corpus"
OPEN = Policy.default().allowing(Target)
RULES = Rules(allowed=True)
OTHER: dict[str, Any] = {
    "allowed": False,
    "profile": Profile.STRICT,
    "keywords": (Keyword("one", "fetch("),),
    "blocklist_mode": BlocklistMode.SUBSTRING,
    "limits": Limits(steps=1),
    "actions": MappingProxyType({"eval()": Action.ALLOW}),
    "process_reads": frozenset({"title"}),
    "env_names": frozenset({"EDITOR"}),
    "bindings": MappingProxyType({"app": "electron.app"}),
}


def decided(verdict: Verdict) -> Verdict:
    """Return ``verdict`` without traces: several traces may lead to one place."""
    found, shadow = (
        [replace(each, trace=()) for each in part] for part in (verdict.findings, verdict.shadow)
    )
    return replace(verdict, findings=tuple(found), shadow=tuple(shadow))


@pytest.mark.parametrize(
    "share",
    [40, pytest.param(1, marks=[pytest.mark.lasts(25), pytest.mark.exhaustive])],
    ids=["sample", "whole corpus"],
)
@pytest.mark.parametrize("profile", [Profile.BALANCED, Profile.STRICT])
def test_the_corpus_is_answered_as_without_a_cache(profile: Profile, share: int) -> None:
    policy = OPEN.with_profile(profile)
    cases = load_cases([CORPUS])[::share]
    cache = VerdictCache(len(cases))

    for case in cases:
        asked: dict[str, Any] = {
            "target": case.target,
            "shape": case.shape,
            "policy": policy,
            "bindings": case.bindings,
        }
        first = validate(case.code.encode(), cache=cache, **asked)
        assert validate(case.code.encode(), cache=cache, **asked) is first
        assert decided(first) == decided(validate(case.code.encode(), **asked))

    assert cache.info().hits >= len(cases)


@pytest.mark.parametrize("name", [field.name for field in fields(Rules)])
def test_every_field_of_the_rules_makes_another_key(name: str) -> None:
    changed = replace(RULES, **{name: OTHER[name]})

    assert rules_digest(changed) != rules_digest(RULES)


@pytest.mark.parametrize("name", [field.name for field in fields(Limits)])
def test_every_limit_makes_another_key(name: str) -> None:
    changed = replace(RULES, limits=replace(RULES.limits, **{name: 7}))

    assert rules_digest(changed) != rules_digest(RULES)


def test_equal_rules_share_a_key_in_whatever_order_they_were_written() -> None:
    one = replace(RULES, bindings=MappingProxyType({"a": "json", "b": "electron"}))
    other = replace(RULES, bindings=MappingProxyType({"b": "electron", "a": "json"}))

    assert rules_digest(one) == rules_digest(other)


def test_texts_that_join_alike_are_not_one_key() -> None:
    one = replace(RULES, process_reads=frozenset({"ab", "c"}))
    other = replace(RULES, process_reads=frozenset({"a", "bc"}))

    assert rules_digest(one) != rules_digest(other)


def test_a_rule_without_a_canonical_form_is_refused() -> None:
    with pytest.raises(TypeError, match="list"):
        rules_digest(replace(RULES, keywords=[]))  # type: ignore[arg-type]


def test_a_policy_that_changes_never_serves_an_old_verdict() -> None:
    code = b"fetch('/api')"
    cache = VerdictCache()
    switched = Policy.model_validate({**OPEN.model_dump(), "constructs": {"network": "block"}})

    codes = [
        validate(code, target="renderer", policy=policy, cache=cache).code
        for policy in (OPEN, switched, Policy.default(), OPEN)
    ]

    assert codes == [None, Code.EVAL_BLOCKED_CONSTRUCT, Code.EVAL_TARGET_DENIED, None]


def test_target_shape_and_bindings_are_part_of_the_key() -> None:
    cache = VerdictCache()
    code = b"theApp['ex' + 'it'](0)"
    asked: tuple[dict[str, Any], ...] = (
        {"target": "main"},
        {"target": "renderer"},
        {"target": "main", "shape": "expression"},
        {"target": "main", "bindings": {"theApp": "electron.app"}},
    )

    answers = [validate(code, policy=OPEN, cache=cache, **each) for each in asked]

    assert cache.info()[:3] == (0, len(asked), len(asked))
    assert [answer.allowed for answer in answers] == [True, True, True, False]


def test_rules_that_are_gone_leave_no_digest_to_others_at_their_address() -> None:
    cache = VerdictCache()
    for number in range(2_000):
        rules = replace(RULES, limits=Limits(steps=number))
        assert cache.key(b"", target=Target.MAIN, shape=None, rules=rules)[-1] == rules_digest(rules)


@pytest.mark.parametrize(
    ("code", "limit", "kept"),
    [
        (Code.EVAL_ANALYSIS_LIMIT, ("steps", 1, None), True),
        (Code.EVAL_ANALYSIS_LIMIT, ("nodes", 1, None), True),
        (Code.EVAL_ANALYSIS_LIMIT, ("deadline_ms", 50, None), False),
        (Code.EVAL_ANALYSIS_LIMIT, None, False),
        (Code.EVAL_TIMEOUT, None, False),
        (Code.INTERNAL, None, False),
        (Code.EVAL_SYNTAX_ERROR, None, True),
    ],
)
def test_only_what_is_counted_is_kept(code: Code, limit: Any, *, kept: bool) -> None:
    cache = VerdictCache()
    key = cache.key(b"1", target=Target.MAIN, shape=None, rules=RULES)
    denied = replace(judge(b"1", target=Target.MAIN, shape=None, rules=RULES), code=code, limit=limit)

    cache.put(key, denied)

    assert (cache.get(key) is denied) is kept


def test_every_limit_that_the_guard_counts_is_kept() -> None:
    small = {
        "steps": (b"[]['at' + x];" * 9, Limits(steps=1)),
        "nodes": (b"a;" * 50, Limits(nodes_per_64k=1)),
        "depth": (b"[" * 50 + b"]" * 50, Limits(depth=5)),
        "parse_budget": (b"/[" * 16_000, Limits()),
    }
    for name, (code, limits) in small.items():
        cache = VerdictCache()
        rules = replace(RULES, limits=limits)
        verdict = judge(code, target=Target.MAIN, shape=Shape.SCRIPT, rules=rules)
        assert (verdict.code, verdict.limit and verdict.limit[0]) == (Code.EVAL_ANALYSIS_LIMIT, name)
        key = cache.key(code, target=Target.MAIN, shape=Shape.SCRIPT, rules=rules)
        cache.put(key, verdict)
        assert cache.get(key) is verdict


def flood(cache: VerdictCache, count: int, *, findings: int) -> None:
    base = judge(b"1", target=Target.MAIN, shape=None, rules=RULES)
    for number in range(count):
        found = tuple(
            Finding(
                "process.exit",
                Location(number + 300, step + 300, number + 1000, number + 2000),
                (TraceStep(f"read from a value at {number}", Location(number + 300, step, 1000, 2000)),),
            )
            for step in range(findings)
        )
        key = cache.key(f"{number}".encode(), target=Target.MAIN, shape=None, rules=RULES)
        hash_text = f"{number:064x}"
        message = f"The payload reaches {number}, which the policy denies, as long as this."
        cache.put(key, replace(base, code_hash=hash_text, findings=found, message=message))


@pytest.mark.exhaustive
@pytest.mark.parametrize("findings", [0, 3], ids=["allowed", "blocked"])
def test_a_flood_of_distinct_payloads_stays_within_both_bounds(findings: int) -> None:
    bound = 256 * 1024
    cache = VerdictCache(10_000, max_bytes=bound)
    flood(cache, 1, findings=findings)
    gc.collect()
    tracemalloc.start()
    try:
        flood(cache, 3_000, findings=findings)
        gc.collect()
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()

    assert cache.info().weight <= bound
    assert held <= bound
    few = VerdictCache(10)
    flood(few, 1_000, findings=findings)
    assert few.info().entries == 10


def test_the_least_recently_used_goes_first() -> None:
    cache = VerdictCache(2)
    for code in (b"1", b"2", b"1", b"3"):
        validate(code, target="main", policy=OPEN, cache=cache)

    before = cache.info().hits
    for code, hit in ((b"1", 1), (b"3", 2), (b"2", 2)):
        validate(code, target="main", policy=OPEN, cache=cache)
        assert cache.info().hits - before == hit


def test_a_verdict_without_room_is_given_and_not_kept() -> None:
    cache = VerdictCache(1, max_bytes=1)

    assert [validate(b"1", target="main", policy=OPEN, cache=cache).allowed for _ in range(2)] == [True, True]
    assert cache.info() == (0, 2, 0, 0)


@pytest.mark.parametrize("size", [(0, 1), (1, 0), (-1, 1)])
def test_a_cache_without_any_room_is_an_error(size: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="room"):
        VerdictCache(size[0], max_bytes=size[1])


def test_threads_that_share_it_get_the_answers_of_one() -> None:
    codes = [f"process['ex' + 'it']({number})".encode() for number in range(20)] + [
        f"x.y({number})".encode() for number in range(20)
    ]
    cache = VerdictCache(15)
    expected = {code: validate(code, target="main", policy=OPEN) for code in codes}
    asked = [code for _, code in zip(range(1_200), itertools.cycle([*codes, *reversed(codes)]), strict=False)]

    with ThreadPoolExecutor(8) as pool:
        answers = pool.map(lambda code: validate(code, target="main", policy=OPEN, cache=cache), asked)

    assert [expected[code] for code in asked] == list(answers)
    info = cache.info()
    assert (info.hits + info.misses, info.entries) == (1_200, 15)
