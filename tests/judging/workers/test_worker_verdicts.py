"""A worker's verdict equals the verdict of the guard in this process."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import yaml

from evalward.guard import judge
from evalward.guard.rules import Action, Keyword, Rules
from evalward.guard.target import Profile, Shape, Target
from evalward.judging.executor import Job
from evalward.judging.workers.frames import SLOTS
from evalward.judging.workers.worker_pool import WorkerPool
from evalward.judging.workers.worker_process import GuardFailure

Pool = Callable[..., WorkerPool]
MakeJob = Callable[..., Job]

HOSTILE = yaml.safe_load(Path(__file__).parents[2].joinpath("data/hostile_text.yaml").read_text())
PAYLOADS = [
    b"document.title",
    b"\xef\xbb\xbf'\xc3\xa4\xf0\x9f\x98\x80'",
    b"\xff",
    b"a\0b",
    b"const = 1",
    b"process.exit(0)",
    b"const p = process; const k = 'ex' + 'it';\np[k](0)",
    b"[]['constr' + 'uctor']['constr' + 'uctor']('return 1')()",
    b"x.innerHTML = '<img onerror=1>'; eval.call(null, 'a'); with (a) b",
    b"/a/ / yield /b/g",
    b"((" * 3_000 + b"))" * 3_000,
    b"a" * (128 * 1024 + 1),
    *((case.get("head", "") + case["unit"] * (4_096 // len(case["unit"]))).encode() for case in HOSTILE[::4]),
]
RULES: Mapping[str, Rules] = {
    "balanced": Rules(allowed=True),
    "strict": Rules(allowed=True, profile=Profile.STRICT),
    "not allowed": Rules(),
    "a keyword, a shadow and a binding": Rules(
        allowed=True,
        keywords=(Keyword("word", "title"),),
        actions={"function-constructor": Action.AUDIT},
        bindings={"electronApp": "electron"},
        process_reads=frozenset({"pid"}),
        env_names=frozenset({"HOME"}),
    ),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
def test_a_worker_gives_the_guards_own_verdict(rules: Rules, pool: Pool, job: MakeJob) -> None:
    workers = pool(1)

    for payload in PAYLOADS:
        shape = None if payload.startswith(b"[") else Shape.EXPRESSION
        expected = judge(payload, target=Target.RENDERER, shape=shape, rules=rules)
        assert workers.submit(job(payload, rules, shape=shape), patience=None) == expected


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("payload", "shape"),
    [(b"1", Shape.SCRIPT), (b"() => 1", Shape.FUNCTION), (b"return 1", Shape.ASYNC_BODY)],
)
def test_a_worker_chooses_the_shape_in_which_the_sandbox_runs(
    payload: bytes, shape: Shape, pool: Pool, job: MakeJob
) -> None:
    verdict = pool(1).submit(job(payload, shape_from_text=True), patience=None)

    assert (verdict.allowed, verdict.shape) == (True, shape)


@pytest.mark.exhaustive
def test_more_rules_than_a_worker_keeps_stay_apart(pool: Pool, job: MakeJob) -> None:
    workers = pool(1)
    many = [Rules(allowed=True, keywords=(Keyword(f"k{n}", f"word{n}x"),)) for n in range(SLOTS + 9)]

    for _ in range(2):
        for number, rules in enumerate(many):
            own = workers.submit(job(f"a.word{number}x".encode(), rules), patience=None)
            other = workers.submit(job(f"a.word{number + 1}x".encode(), rules), patience=None)
            assert (own.keyword, other.keyword) == (f"k{number}", None)


def test_a_guard_that_raises_is_a_failure_that_names_its_place_and_no_payload(
    pool: Pool, job: MakeJob, caplog: pytest.LogCaptureFixture
) -> None:
    workers = pool(1)
    broken = Rules(allowed=True, keywords=(None,))  # type: ignore[arg-type]

    with pytest.raises(GuardFailure, match=r"^AttributeError at \w+\.py:\d+$"):
        workers.submit(job(b"secret_payload", broken), patience=None)

    assert workers.submit(job(b"document.title"), patience=None).allowed
    assert workers.info().ended == 0
    assert "secret" not in caplog.text
