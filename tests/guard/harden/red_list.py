"""The red list: attacks on hardened programs as data, and the hosts in which each of them is tried.

A case has ``id``, ``class``, ``target``, ``shape``, ``code`` (a list runs one after another in one realm), ``expect``
(what the closest host sees: denied, ended or refused) and ``twin``, the id of an ordinary program like it. ``host``
adds a host without traps to the oracle's engines: ``bare``, or ``cjs`` for a CommonJS function that evaluates directly;
``before`` is what such a host itself runs first.

    python tests/guard/harden/red_list.py [PART OF AN ID]...     one line for each case that is not as expected
"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import yaml
from bare_hosts import BareNode, BarePage, BareRun

from evalward.guard.target import Shape, Target
from evalward.oracle.hardened_run import DENIAL, Outcome, outcome_of, strong
from evalward.oracle.hits import Engine, EngineRun
from evalward.oracle.reach import ENGINES_OF, Oracles

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evalward.oracle.emission import Emission, Emit

RED = Path(__file__).parent / "red"
TWINS = "twins.yaml"
FIELDS = {"id", "class", "target", "shape", "host", "before", "code", "expect", "twin"}


@dataclass(frozen=True)
class Attack:
    """One case of the red list."""

    id: str
    about: str
    target: Target
    shape: Shape
    host: str
    codes: tuple[str, ...]
    expect: Outcome
    twin: str
    before: str = ""

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts that try it, the closest first."""
        if self.before:
            return (self.host,)  # only a host without traps can be changed beforehand
        engines = tuple(engine.value for engine in ENGINES_OF[self.target])
        return engines if self.host == "traps" else (self.host, *engines)


@dataclass(frozen=True)
class Trial:
    """The result of an attack in one host."""

    host: str
    outcome: Outcome
    detail: str


def attacks() -> Iterator[Attack]:
    """Yield every case, file by file."""
    for file in sorted(RED.glob("*.yaml")):
        if file.name != TWINS:
            yield from map(_attack, _load(file))


def twins() -> dict[str, dict[str, Any]]:
    """Return the ordinary programs by id."""
    return {each["id"]: each for each in _load(RED / TWINS)}


def _load(file: Path) -> list[dict[str, Any]]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    loaded: list[dict[str, Any]] = yaml.load(file.read_text(encoding="utf-8"), Loader=loader)
    return loaded


def _attack(raw: dict[str, Any]) -> Attack:
    assert raw.keys() <= FIELDS, raw.keys() - FIELDS
    code = raw["code"]
    return Attack(
        raw["id"],
        raw["class"],
        Target(raw["target"]),
        Shape(raw.get("shape", "script")),
        raw.get("host", "traps"),
        tuple(code) if isinstance(code, list) else (code,),
        Outcome(raw["expect"]),
        raw["twin"],
        raw.get("before", ""),
    )


class Hosts:
    """The engines with traps and the hosts without, opened on first use."""

    def __init__(self, *, deadline: float = 2.0) -> None:
        self._stack = ExitStack()
        self.oracles = self._stack.enter_context(Oracles(deadline=deadline))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def try_in(self, host: str, attack: Attack, emit: Emit) -> Trial:
        """Run the hardened attack in one host."""
        emissions = [emit(code, attack.target, attack.shape) for code in attack.codes]
        return self.run(host, attack, emissions)

    def run(self, host: str, attack: Attack, emissions: Sequence[Emission]) -> Trial:
        """Run what was emitted; the first program that was refused decides."""
        texts: list[str] = []
        for emission in emissions:
            if emission.text is None:
                return Trial(host, Outcome.REFUSED, emission.refused)
            texts.append(emission.text)
        if host in {"bare", "cjs"}:
            return _bare(host, self._bare_host(host, attack.target).run(texts, attack.shape, attack.before))
        runs = [self.oracles.oracle(Engine(host)).run(t, attack.target, attack.shape) for t in texts]
        return _trapped(host, runs)

    def missing(self, host: str, target: Target) -> str | None:
        """Return why ``host`` cannot run here, or None."""
        engine = Engine.CHROMIUM if target is Target.RENDERER else Engine.NODE
        return self.oracles.absent.get(engine if host in {"bare", "cjs"} else Engine(host))

    def _bare_host(self, host: str, target: Target) -> BareNode | BarePage:
        if target is Target.RENDERER:
            return self._page
        return self._cjs if host == "cjs" else self._node

    @cached_property
    def _node(self) -> BareNode:
        return self._stack.enter_context(BareNode())

    @cached_property
    def _cjs(self) -> BareNode:
        return self._stack.enter_context(BareNode(cjs=True))

    @cached_property
    def _page(self) -> BarePage:
        return self._stack.enter_context(BarePage())


def _bare(host: str, run: BareRun) -> Trial:
    if run.reached:
        return Trial(host, Outcome.REACHED, f"{run.reached}; {run.ending} {run.note}")
    denied = DENIAL in run.note or "evalward denied" in run.note
    return Trial(host, Outcome.DENIED if denied else Outcome.ENDED, f"{run.ending} {run.note}")


def _trapped(host: str, runs: Sequence[EngineRun]) -> Trial:
    for run in runs:
        if strong(run):
            hits = ", ".join(f"{hit.capability} {hit.op} {hit.path}" for hit in strong(run)[:3])
            return Trial(host, Outcome.REACHED, hits)
    worst = min(runs, key=lambda run: [*Outcome].index(outcome_of(run)))
    if len(runs) > 1:
        worst = next((run for run in runs if outcome_of(run) is Outcome.DENIED), worst)
    return Trial(host, outcome_of(worst), f"{worst.ending} {worst.note}")


def main(parts: Sequence[str]) -> int:
    """Print what is not as expected, then the counts; return 1 if anything was reached."""
    from evalward.oracle.emission import emit  # noqa: PLC0415 - only this entry runs the product's own

    counts: dict[Outcome, int] = dict.fromkeys(Outcome, 0)
    with Hosts() as hosts:
        for attack in attacks():
            if parts and not any(part in attack.id for part in parts):
                continue
            emissions = [emit(code, attack.target, attack.shape) for code in attack.codes]
            for place, host in enumerate(attack.hosts):
                if hosts.missing(host, attack.target):
                    continue
                trial = hosts.run(host, attack, emissions)
                counts[trial.outcome] += 1
                expected = trial.outcome is attack.expect or (place and trial.outcome is not Outcome.REACHED)
                if parts or not expected:
                    name = f"{attack.about}/{attack.id}"
                    sys.stdout.write(f"{trial.outcome}\t{name}\t{host}\t{trial.detail}\t({attack.expect})\n")
                    sys.stdout.flush()
    sys.stdout.write(f"{ {outcome.value: count for outcome, count in counts.items()} }\n")
    return 1 if counts[Outcome.REACHED] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
