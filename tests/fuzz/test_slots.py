"""Every slot in which a built-in function calls the payload: what goes in through it is judged when it comes out."""

import re
import tomllib
from importlib.resources import files

import pytest

from evalward import validate
from evalward.guard.target import Profile, Shape, Target
from evalward.oracle import Oracles
from evalward.policy import Policy

SLOTS = tomllib.loads((files("evalward.fuzz.axes") / "slots.toml").read_text(encoding="utf-8"))
CARRIED = {
    "capability": ("(() => {}).constructor", '@x("return process.title")();'),
    "key": ('"constructor"', '(() => {})[@x]("return process.title")();'),
    "closure": ("(() => {})", '@x.constructor("return process.title")();'),
}


def program(slot: str, what: str) -> str:
    value, use = CARRIED[what]
    text = SLOTS[slot]["text"].replace("@body", use).replace("@v", value)
    return re.sub(r"@([pqrx])", r"\1\1", text)


def fits(slot: str, what: str) -> bool:
    return ("text" in SLOTS[slot].get("needs", ())) <= (what == "key")


PROGRAMS = [(slot, what) for slot in SLOTS for what in CARRIED if fits(slot, what)]


@pytest.mark.parametrize("profile", [Profile.BALANCED, Profile.STRICT])
def test_what_comes_out_of_a_slot_is_judged(profile: Profile) -> None:
    policy = Policy.default().with_profile(profile).allowing([Target.SANDBOX])
    passed = [
        (slot, what)
        for slot, what in PROGRAMS
        if validate(
            program(slot, what).replace("process.title", "1").encode(),
            target=Target.SANDBOX,
            shape=Shape.SCRIPT,
            policy=policy,
        ).allowed
    ]
    assert passed == []


@pytest.mark.exhaustive
def test_each_slot_carries_what_it_is_given() -> None:
    with Oracles(deadline=2.0) as oracles:
        dead = [
            (slot, what)
            for slot, what in PROGRAMS
            if not any(
                hit.path == "process.title"
                for run in oracles.runs(program(slot, what), Target.MAIN, Shape.SCRIPT)
                for hit in run.hits
            )
        ]
    assert dead == []


def test_each_slot_names_its_algorithm() -> None:
    named = [(row["algorithm"], row["slot"]) for row in SLOTS.values()]
    assert all(algorithm and slot for algorithm, slot in named)
    assert len(set(named)) == len(named)
