"""A worker's reply is parsed field by field: only a verdict on the requested payload is accepted."""

import json
from dataclasses import replace
from hashlib import sha256

import pytest

from evalward.codes import Code
from evalward.guard.rules import Rules
from evalward.guard.target import Profile, Target
from evalward.guard.verdict import HardenedProgram, Location, Unhardened, Verdict
from evalward.judging.executor import Job
from evalward.judging.hardening import MAX_PROGRAM_BYTES, UNDECLARED
from evalward.judging.workers.verdict_json import NotAVerdictError, from_json, to_json

PAYLOAD = b"document.title"
HASH = sha256(PAYLOAD).hexdigest()
JOB = Job(PAYLOAD, Target.RENDERER, None, Rules(allowed=True))
BARE = Verdict(None, JOB.target, None, Profile.BALANCED, HASH, len(PAYLOAD))
ALLOW = json.loads(to_json(replace(BARE, message="with something to tell")))
(
    CODE,
    TARGET,
    SHAPE,
    PROFILE,
    ITS_HASH,
    LENGTH,
    CONSTRUCT,
    KEYWORD,
    PLACE,
    FINDINGS,
    SHADOW,
    LIMIT,
    MESSAGE,
    DETAILS,
    SINK,
    FINDINGS_TOTAL,
    PERMITS,
    HARDENED,
    UNHARDENED,
    REWRITES,
) = range(len(ALLOW))


def test_an_allow_with_nothing_to_tell_comes_back_whole() -> None:
    text = to_json(BARE)

    assert len(text) < 40
    assert from_json(text, JOB, HASH) == BARE


def test_the_usual_lack_of_a_program_is_as_short_and_needs_a_job_that_asks_for_one() -> None:
    verdict = replace(BARE, unhardened=Unhardened(UNDECLARED.reason))
    text = to_json(verdict)

    assert len(text) < 40
    assert from_json(text, JOB._replace(harden=True), HASH) == verdict
    with pytest.raises(NotAVerdictError):
        from_json(text, JOB, HASH)
    with pytest.raises(NotAVerdictError):
        from_json(text.replace(b",1]", b",2]"), JOB._replace(harden=True), HASH)


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("value", ["main", "module", "seed", None, True, 1, [], ["renderer"]])
def test_a_short_allow_is_about_the_job_or_refused(place: int, value: object) -> None:
    fields = json.loads(to_json(BARE))
    if fields[place] == value:
        return
    fields[place] = value

    with pytest.raises(NotAVerdictError):
        from_json(json.dumps(fields).encode(), JOB, HASH)


def test_the_untouched_one_passes() -> None:
    assert from_json(json.dumps(ALLOW).encode(), JOB, HASH).allowed


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (ITS_HASH, sha256(b"1 + 1").hexdigest()),
        (ITS_HASH, None),
        (LENGTH, 1),
        (LENGTH, "14"),
        (LENGTH, True),
        (TARGET, "main"),
        (TARGET, None),
        (TARGET, ["renderer"]),
        (PROFILE, "seed"),
        (SHAPE, "module"),
        (SINK, "playwright.evaluate"),
        (SINK, ""),
        (CODE, "OVERLOADED"),
        (CODE, "ALLOWED"),
        (CODE, False),
        (CODE, 0),
        (CODE, ""),
        (CONSTRUCT, 1),
        (KEYWORD, []),
        (PLACE, [1, 2, 3]),
        (PLACE, [1, 2, 3, "4"]),
        (FINDINGS, {}),
        (FINDINGS, None),
        (FINDINGS, [["x"]]),
        (FINDINGS, [["x", None, [["note"]]]]),
        (SHADOW, "x"),
        (LIMIT, ["steps", 1]),
        (LIMIT, ["steps", "1", None]),
        (MESSAGE, None),
        (FINDINGS, [["x", None, []]]),
        (FINDINGS, [["x", None, [], 1]]),
        (FINDINGS_TOTAL, None),
        (FINDINGS_TOTAL, "1"),
        (DETAILS, {}),
        (DETAILS, [["name"]]),
        (DETAILS, [["name", 1]]),
        (PERMITS, None),
        (PERMITS, 0),
        (REWRITES, None),
        (REWRITES, [[None, "a", "b"]]),
        (REWRITES, [[[1, 1, 0, 1], "a", 1]]),
        (REWRITES, [[[1, 1, 0, 1], "a", "b"]]),
        (HARDENED, ["Prefix000000", "1.0.0", "Prefix000000"]),
        (UNHARDENED, ["why", None, False]),
    ],
)
def test_a_changed_field_is_refused(place: int, value: object) -> None:
    changed = [*ALLOW]
    changed[place] = value

    with pytest.raises(NotAVerdictError):
        from_json(json.dumps(changed).encode(), JOB, HASH)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"null",
        b"true",
        b"[]",
        b"{}",
        b"\xff",
        b"[" * 100_000,
        json.dumps(ALLOW[:-1]).encode(),
        json.dumps([*ALLOW, None]).encode(),
        json.dumps(ALLOW).encode() + b"x",
    ],
)
def test_what_is_no_verdict_is_refused(text: bytes) -> None:
    with pytest.raises(NotAVerdictError):
        from_json(text, JOB, HASH)


HARDENED_JOB = JOB._replace(harden=True)
PROGRAM = HardenedProgram(b"(() => {let Prefix000000a=1;})()", "1.0.0", "Prefix000000")


@pytest.mark.parametrize(
    "verdict",
    [
        replace(BARE, hardened=PROGRAM),
        replace(BARE, unhardened=Unhardened("import() is never hardened", Location(1, 1, 0, 6))),
        replace(BARE, unhardened=Unhardened("the emitter failed", failed=True)),
        replace(BARE, permits=True),
    ],
)
def test_a_program_or_its_absence_comes_back_whole(verdict: Verdict) -> None:
    assert from_json(to_json(verdict), HARDENED_JOB, HASH) == verdict


@pytest.mark.parametrize(
    "program",
    [
        ["Prefix000000", "1.0.0", "let other=1;"],
        ["Prefix000000", "1.0.0", "let Prefix000000a='\u00e9';"],
        ["Prefix000000", "", "let Prefix000000a=1;"],
        ["Prefix000000", "1.0.0 now", "let Prefix000000a=1;"],
        ["short", "1.0.0", "let shorta=1;"],
        ["0Prefix00000", "1.0.0", "let x0Prefix00000a=1;"],
        ["Prefix000000", "1.0.0", None],
        ["Prefix000000", "1.0.0"],
        ["Prefix000000", "1.0.0", "Prefix000000" + "a" * MAX_PROGRAM_BYTES],
        "Prefix000000",
    ],
)
def test_what_is_no_program_is_refused(program: object) -> None:
    changed = [*ALLOW]
    changed[HARDENED] = program

    with pytest.raises(NotAVerdictError):
        from_json(json.dumps(changed).encode(), HARDENED_JOB, HASH)


def test_a_denial_has_no_program() -> None:
    denied = replace(BARE, code=Code.EVAL_SYNTAX_ERROR, hardened=PROGRAM)

    with pytest.raises(NotAVerdictError):
        from_json(to_json(denied), HARDENED_JOB, HASH)
