"""No attack of the red list reaches anything when it is hardened, and its twin does what it did."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from red_list import Attack, Hosts, attacks, twins

from evalward.guard.target import Shape, Target
from evalward.oracle.emission import Emission, emit
from evalward.oracle.hardened_run import Outcome, difference
from evalward.oracle.reach import ENGINES_OF
from evalward.oracle.traps import OBSERVED

if TYPE_CHECKING:
    from collections.abc import Iterator

ATTACKS = tuple(attacks())
TWINS = twins()


@pytest.fixture(scope="module")
def hosts() -> Iterator[Hosts]:
    with Hosts(deadline=5) as opened:
        yield opened


@cache
def emitted(code: str, target: Target, shape: Shape) -> Emission:
    return emit(code, target, shape)


def test_the_list_is_long_and_every_case_has_a_name_and_a_twin() -> None:
    assert len(ATTACKS) >= 400
    assert [name for name, count in Counter(a.id for a in ATTACKS).items() if count > 1] == []
    assert set() == {attack.twin for attack in ATTACKS} - TWINS.keys()


@pytest.mark.sampled(12)
@pytest.mark.parametrize(
    ("attack", "host"),
    [pytest.param(a, host, id=f"{a.about}-{a.id}-{host}") for a in ATTACKS for host in a.hosts],
)
def test_nothing_is_reached(hosts: Hosts, attack: Attack, host: str) -> None:
    if reason := hosts.missing(host, attack.target):
        pytest.skip(reason)
    trial = hosts.run(host, attack, [emitted(code, attack.target, attack.shape) for code in attack.codes])
    assert trial.outcome is not Outcome.REACHED, trial
    if host == attack.hosts[0]:
        assert trial.outcome is attack.expect, trial


@pytest.mark.sampled(6)
@pytest.mark.parametrize("twin", TWINS.values(), ids=lambda twin: twin["id"])
def test_a_twin_does_what_it_did(hosts: Hosts, twin: dict[str, Any]) -> None:
    target, shape = Target(twin["target"]), Shape(twin["shape"])
    emission = emit(twin["code"], target, shape)
    assert emission.text is not None, emission.refused
    for engine in ENGINES_OF[target]:
        if engine in hosts.oracles.absent:
            continue
        oracle = hosts.oracles.oracle(engine)
        original = oracle.run(twin["code"], target, shape, data=OBSERVED)
        if (
            original.note == "stack_overflow"
        ):  # the sandbox ends such a run, so that the payload catches nothing
            continue
        assert original.ending in {"completed", "threw"}, original
        assert difference(original, oracle.run(emission.text, target, shape, data=OBSERVED)) is None


@pytest.mark.parametrize(
    "name", ["annexb-let", "search-lastindex", "cjs-require-cp", "markup-newline-url", "super-evaluate"]
)
def test_the_hosts_see_what_an_attack_reaches_as_it_is(hosts: Hosts, name: str) -> None:
    attack = next(attack for attack in ATTACKS if attack.id == name)
    host = attack.hosts[0]
    if reason := hosts.missing(host, attack.target):
        pytest.skip(reason)
    plain = "process.reallyExit(42)" if name == "annexb-let" else attack.codes[0]
    assert hosts.run(host, attack, [Emission(plain)]).outcome is Outcome.REACHED
