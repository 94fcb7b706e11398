"""The resolver: it ends within its budget and gives the same answer every time."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from evalward.codes import Code
from evalward.corpus.corpus_case import load_cases
from evalward.guard import judge
from evalward.guard.rules import Limits, Rules
from evalward.guard.target import Profile, Shape, Target

CORPUS = Path(__file__).parents[2] / "corpus"
SINK_ARGUMENTS = yaml.safe_load((Path(__file__).parent / "sink-arguments.yaml").read_text("utf-8"))
TOKEN = re.compile(r"[A-Za-z_$][\w$]*|\d+|'[^'\n]*'|\s+|.", re.DOTALL)
SHORT = [case for case in load_cases([CORPUS / "escapes"]) if len(case.code) < 400]
WORDS = sorted({token for case in SHORT for token in TOKEN.findall(case.code) if re.match(r"[\w'$]", token)})

spliced = st.builds(
    lambda case, other, places, words: _splice(case.code, places, words) + ";\n" + other.code,
    st.sampled_from(SHORT),
    st.sampled_from(SHORT),
    st.lists(st.integers(min_value=0, max_value=400), max_size=4),
    st.lists(st.sampled_from(WORDS), min_size=4, max_size=4),
)


def _splice(code: str, places: list[int], words: list[str]) -> str:
    tokens = TOKEN.findall(code)
    named = [index for index, token in enumerate(tokens) if re.match(r"[\w'$]", token)]
    for place, word in zip(places, words, strict=False):
        if named:
            tokens[named[place % len(named)]] = word
    return "".join(tokens)


@settings(max_examples=300)
@given(code=spliced, profile=st.sampled_from([Profile.BALANCED, Profile.STRICT]))
def test_whatever_names_are_exchanged_it_ends_without_an_exception_and_answers_alike(
    code: str, profile: Profile
) -> None:
    rules = Rules(allowed=True, profile=profile, limits=Limits(steps=20_000))
    first = judge(code.encode(), target=Target.MAIN, shape=None, rules=rules)
    again = judge(code.encode(), target=Target.MAIN, shape=None, rules=rules)
    assert first == again
    if first.code is Code.EVAL_ANALYSIS_LIMIT and first.limit is not None and first.limit[0] == "steps":
        assert first.limit[1] == 20_000


@pytest.mark.parametrize("case", SINK_ARGUMENTS, ids=lambda case: case["code"])
def test_the_arguments_of_the_sink_are_what_it_binds(case: dict[str, str]) -> None:
    verdict = judge(
        case["code"].encode(),
        target=Target(case["target"]),
        shape=Shape.ASYNC_BODY,
        rules=Rules(allowed=True, profile=Profile.BALANCED),
    )

    assert verdict.construct == case.get("construct")
    assert verdict.allowed is ("construct" not in case)


def test_a_program_past_the_budget_of_steps_is_denied_with_the_limit_named() -> None:
    code = "const f = (o, k) => o[k];" + "".join(f"f(a{i}, b{i})[c{i}](d{i});" for i in range(400))
    verdict = judge(
        code.encode(), target=Target.MAIN, shape=None, rules=Rules(allowed=True, limits=Limits(steps=500))
    )
    assert verdict.code is Code.EVAL_ANALYSIS_LIMIT
    assert verdict.limit == ("steps", 500, None)


@pytest.mark.exhaustive
def test_the_verdict_does_not_depend_on_the_hash_seed() -> None:
    codes = [case.code for case in SHORT[::12]]
    program = (
        "import json, sys\n"
        "from evalward.guard import judge\n"
        "from evalward.guard.rules import Rules\n"
        "from evalward.guard.target import Target\n"
        "rules = Rules(allowed=True)\n"
        "out = [judge(c.encode(), target=Target.MAIN, shape=None, rules=rules) for c in json.load(sys.stdin)]\n"
        "print(json.dumps([[v.code, v.construct, v.location and v.location.start] for v in out]))\n"
    )
    answers = [
        subprocess.run(
            [sys.executable, "-c", program],
            input=json.dumps(codes),
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2", "3")
    ]
    assert answers[0] == answers[1] == answers[2]
    assert len(json.loads(answers[0])) == len(codes)


def test_a_path_that_grows_in_a_loop_is_one_value() -> None:
    """With a value per path, five names five deep were thousands, and a read of them all took minutes."""
    code = 'let x = process; for (const k of ["a", "b", "c", "d", "e"]) for (;;) x = x[k] || x; x(0)'
    verdict = judge(
        code.encode(), target=Target.MAIN, shape=None, rules=Rules(allowed=True, limits=Limits(steps=2_000))
    )
    assert verdict.code is Code.EVAL_BLOCKED_CONSTRUCT
