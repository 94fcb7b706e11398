"""``evalward demo``: eight payloads, three profiles, under two seconds."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

from evalward.cli.demo import EXAMPLES, judged
from evalward.guard.target import Profile

EXPECTED = {  # per payload: seed, balanced, strict
    "document.title": "aaa",
    "await page.waitForFunction(() => document.fonts.status === 'loaded')": "baa",
    "process.exit(0)": "bbb",
    "process['exit'](0)": "bbb",
    "globalThis['pro' + 'cess']['ex' + 'it']()": "abb",
    "const f = Function; f('return 1')()": "abb",
    "({ app: a }) => a['ex' + 'it'](0)": "abb",
    "({ routes, method, path }) => routes[method][path](1)": "aab",
}


def test_the_profiles_answer_as_the_demo_claims() -> None:
    answers = {
        example.code: "".join("a" if verdict.allowed else "b" for verdict in verdicts)
        for example, verdicts in judged((Profile.SEED, Profile.BALANCED, Profile.STRICT))
    }

    assert answers == EXPECTED
    assert len(EXAMPLES) == 8


@pytest.mark.exhaustive
def test_the_demo_prints_all_of_it_in_less_than_two_seconds() -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)

    done = subprocess.run(
        [sys.executable, "-c", "from evalward.cli.app import main; main()", "demo"],
        capture_output=True,
        text=True,
        check=True,
        env={"COLUMNS": "160", "PATH": ""},
    )

    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert [example.code for example in EXAMPLES if example.code not in done.stdout] == []
    assert done.stdout.count("1:") > 0  # places in traces
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 2
