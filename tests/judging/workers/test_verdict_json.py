"""A worker's reply is parsed field by field: only a verdict on the requested payload is accepted."""

import json
from dataclasses import replace
from hashlib import sha256

import pytest

from evalward.guard.rules import Rules
from evalward.guard.target import Profile, Target
from evalward.guard.verdict import Verdict
from evalward.judging.executor import Job
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
) = range(len(ALLOW))


def test_an_allow_with_nothing_to_tell_comes_back_whole() -> None:
    text = to_json(BARE)

    assert len(text) < 40
    assert from_json(text, JOB, HASH) == BARE


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
