"""Run a payload and its rewrite, and say whether they did the same (``evalward check --fix-preview``).

Both run observed, in the engine that is closest to their target, with the same stand-ins for the names that the realm
lacks. A function is called with several arguments, until the payload completes with one: two runs that end with an
error show little. A target whose engine is not installed is not run: another engine shows what its stand-ins do.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from evalward.guard.sinks import sinks
from evalward.guard.target import Shape, Target
from evalward.oracle.hardened_run import difference, excerpts, is_invalid
from evalward.oracle.hits import Engine
from evalward.oracle.reach import ENGINES_OF, UNDECLARED
from evalward.oracle.traps import SAMPLE_ARGUMENT, Driving, observed, trap_config
from evalward.sandbox.shape import CALLED_SHAPES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from evalward.guard.sinks import Sink
    from evalward.oracle.hits import EngineRun
    from evalward.oracle.reach import Oracle, Oracles
    from evalward.oracle.traps import Data

_NAME: Final = re.compile(r"(?<![\w$.])[A-Za-z_$][\w$]*")
_CALLED: Final = re.compile(rf"{_NAME.pattern}(?=\s*\()")
_MOST_NAMES: Final = 200
_EVENT: Final = re.compile(r"\bon([a-z]+)\s*=|['\"`]on([a-z]+)['\"`]")
_JSON_TEXT: Final = '"{\\"a\\": [1, 2], \\"b\\": \\"c\\"}"'
"""An argument that is a text with JSON, as JSON."""
_OF_AN_ELEMENT: Final = re.compile(
    r"(?:([\w$]+)|[)\]])\s*\.\s*(?:innerHTML|insertAdjacentHTML|setAttribute)\b"
)
"""A use of an element, with the name of it where it has one."""
_COMPLETED: Final = "completed"
_DEADLINE: Final = "deadline"
_MARKUP: Final = re.compile(r"\bsetContent\b")
_ANONYMOUS: Final = re.compile(r"function anonymous/")
"""What ``Function`` makes is called so (ECMA-262 §20.2.1.1.1), and a function expression is not."""


class Comparison(StrEnum):
    """What two runs show."""

    SAME = "same"
    DIFFERENT = "different"
    NOT_RUN = "not-run"


@dataclass(frozen=True, slots=True)
class RewriteRuns:
    """What the runs of a payload and of its rewrite show.

    ``engine`` is None where nothing ran. ``detail`` is how they differ, or why there is nothing to compare; it
    repeats texts of the payload. It is empty where they did the same in everything.
    """

    comparison: Comparison
    engine: Engine | None
    detail: str


class Place(NamedTuple):
    """Where a payload runs: what evaluates it, or target and shape."""

    target: Target
    shape: Shape | None
    sink: str | None
    bindings: Mapping[str, str]


def compare_runs(oracles: Oracles, payload: bytes, rewritten: bytes, place: Place) -> RewriteRuns:
    """Run ``payload`` and ``rewritten`` where ``place`` says, and compare what they do."""
    engine = ENGINES_OF[place.target][0]
    if engine in oracles.absent:
        return RewriteRuns(Comparison.NOT_RUN, None, oracles.absent[engine])
    try:
        codes = payload.decode(), rewritten.decode()
    except UnicodeDecodeError:
        return RewriteRuns(Comparison.NOT_RUN, None, "the payload is not UTF-8")
    sink = None if place.sink is None else sinks()[place.sink]
    first, second = codes if sink is None else map(sink.read, codes)
    for shape in _shapes(first, place.shape, sink):
        found = _Runs(oracles.oracle(engine), (first, second), place, shape).compared()
        if found is not None:
            return found
    return RewriteRuns(Comparison.NOT_RUN, None, "the payload as it is does not parse")


def _shapes(code: str, declared: Shape | None, sink: Sink | None) -> tuple[Shape, ...]:
    """Return the shapes that ``code`` may have: the first that an engine can parse is the one in which it runs."""
    if sink is None:
        return UNDECLARED if declared is None else (declared,)
    shape = sink.shape_of(code)
    # A driver that calls the value of a script runs an expression as a function would be run.
    return (Shape.FUNCTION, shape) if sink.readings_of(code)[0].called else (shape,)


class _Runs:
    """Both programs in one shape."""

    def __init__(self, oracle: Oracle, codes: tuple[str, str], place: Place, shape: Shape) -> None:
        self._oracle = oracle
        self._first, self._second = codes
        self._place, self._shape = place, shape

    def compared(self) -> RewriteRuns | None:
        """Compare the runs; None where the engine cannot parse the payload in this shape."""
        ending = ""
        for data in _circumstances(self._first, self._second, self._place.target, self._shape):
            run = self._run(self._first, data)
            if is_invalid(run):
                return None
            if run.ending == _COMPLETED:
                return self._against(run, data)
            ending = ending or f"here it ends so: {run.ending} {run.note}".rstrip()
            if run.ending == _DEADLINE:
                break
        return RewriteRuns(Comparison.NOT_RUN, None, ending)

    def _against(self, run: EngineRun, data: Data) -> RewriteRuns:
        other = self._run(self._second, data)
        differs = _difference(run, other)
        if differs is None:
            return RewriteRuns(Comparison.SAME, run.engine, "")
        if self._shape is Shape.SCRIPT and _difference(_valueless(run), _valueless(other)) is None:
            return RewriteRuns(Comparison.SAME, run.engine, "but for the completion value of the script")
        if _difference(run, self._run(self._first, data)) is not None:
            reason = "the payload does something else in each run"
        elif run.engine is not Engine.CHROMIUM and _MARKUP.search(self._first):
            reason = "there is no page whose content could be set"
        elif run.engine is not Engine.CHROMIUM and self._reads_another_host():
            reason = "the rewrite asks another object of the host, of which there is only a stand-in here"
        else:
            return RewriteRuns(Comparison.DIFFERENT, run.engine, differs)
        return RewriteRuns(Comparison.NOT_RUN, None, reason)

    def _reads_another_host(self) -> bool:
        new = {*_NAME.findall(self._second)} - {*_NAME.findall(self._first)}
        return bool(new & {*trap_config(self._place.target)["stubs"]})

    def _run(self, code: str, data: Data) -> EngineRun:
        run = self._oracle.run(
            code, self._place.target, self._shape, bindings=self._place.bindings, data=data
        )
        return replace(run, record=_ANONYMOUS.sub("function /", run.record))


def _difference(one: EngineRun, other: EngineRun) -> str | None:
    """Return what differs. Unlike a hardened program, a rewrite has no values of its own for those of the host."""
    differs = difference(replace(one, record=""), replace(other, record=""))
    if differs is not None or one.record == other.record:
        return differs
    ours, theirs = (json.loads(run.record) if run.record else {} for run in (one, other))
    return next(
        (
            f"{part}: {excerpts(ours[part], theirs.get(part))}"
            for part in ours
            if ours[part] != theirs.get(part)
        ),
        "no record of one of the runs",
    )


def _valueless(run: EngineRun) -> EngineRun:
    return replace(run, record=json.dumps({**json.loads(run.record), "value": ""}) if run.record else "")


def _circumstances(first: str, second: str, target: Target, shape: Shape) -> Iterator[Data]:
    """Yield what the programs may run with: for a function, the likeliest argument first."""
    base = observed(first, target)
    both = f"{first} {second}"
    names, called, elements = (
        dict.fromkeys(pattern.findall(both)) for pattern in (_NAME, _CALLED, _OF_AN_ELEMENT)
    )
    events = dict.fromkeys(one or other for one, other in _EVENT.findall(first))
    driving = Driving(tuple(names)[:_MOST_NAMES], tuple(called), tuple(elements), tuple(events))
    given = [driving]
    if shape in CALLED_SHAPES:
        given += [replace(driving, argument=argument) for argument in (SAMPLE_ARGUMENT, _JSON_TEXT)]
        given.insert(0 if _OF_AN_ELEMENT.search(first) else len(given), replace(driving, element=True))
    for each in given:
        yield replace(base, driving=each)
