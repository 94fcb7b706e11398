"""Sinks by name: how each driver parses a text that it is given to evaluate (front-doors.md §1).

Input: the name of a sink and a text. Output: the readings that the driver may have of the text, which must be safe
under all of them. The data are in ``sinks.toml`` in this directory, and ``tests/sinks`` checks each sink against its
driver.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from evalward.guard.target import Shape, Target

if TYPE_CHECKING:
    from collections.abc import Mapping

SPACE: Final = "\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
"""What ``\\s`` matches and ``trim`` removes in ECMAScript (§12.2, §12.3), as a class of a regular expression."""
_TRIM: Final = re.compile(f"[{SPACE}]+")


class Frame(StrEnum):
    """How a reading parses the text; the driver puts the reading's ``prefix`` and ``suffix`` around it."""

    SCRIPT = "script"  # a whole Script, as `eval` at the top level takes it
    REPL = "repl"  # the same with `await` at the top level
    EXPRESSION = "expression"  # in parentheses
    BODY = "body"  # the body of a function, `async` or not


_FRAMES_TOGETHER: Final = ({Frame.SCRIPT, Frame.EXPRESSION}, {Frame.REPL, Frame.EXPRESSION})


@dataclass(frozen=True, slots=True)
class Reading:
    """One way in which a driver reads a text.

    ``when`` is a pattern that the text must match. The first reading that matches applies, together with those behind
    it that are marked ``also``. A text that is no program under an ``optional`` reading may still be one under the
    others. ``called`` says that the driver calls the value of the text, if that is a function.
    """

    frame: Frame
    prefix: str = ""
    suffix: str = ""
    when: re.Pattern[str] | None = None
    also: bool = False
    optional: bool = False
    called: bool = False


@dataclass(frozen=True, slots=True)
class Sink:
    """What evaluates a text.

    ``this`` and ``parameters`` are kinds of bindings: what `this` is, and what a function is called with (in a body:
    what ``arguments`` holds), ``rest`` the kind of any further argument. ``bindings`` are names in the text's scope.
    ``trims`` says that the driver first strips white space from both ends, ``drops`` is what it then removes once from
    the end. ``without_return`` says that it removes the word `return` from the start of the last line. ``emit`` is a
    template for a program that has one reading for this sink: ``{statements}`` stands for statements, ``{body}`` for
    those of a function. ``proof`` names the place in the driver's source.
    """

    id: str
    target: Target
    summary: str
    proof: str
    readings: tuple[Reading, ...]
    this: str = "global"
    parameters: tuple[str, ...] = ()
    rest: str = "json"
    bindings: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    trims: bool = False
    drops: str = ""
    without_return: bool = False
    emit: str = ";{statements}"

    def read(self, text: str) -> str:
        """Return ``text`` as the driver changes it before it parses it."""
        if self.without_return:
            return _without_return(text)
        if not self.trims:
            return text
        start = _TRIM.match(text)
        begin = start.end() if start else 0
        end = len(text)
        while end > begin and _TRIM.fullmatch(text[end - 1]):
            end -= 1
        if self.drops and text.endswith(self.drops, begin, end):
            end -= len(self.drops)
        return text[begin:end]

    def shape_of(self, text: str) -> Shape:
        """Return the shape in which an engine runs ``text``, which ``read`` has returned, as the driver would."""
        reading = self.readings_of(text)[0]
        if reading.frame is Frame.EXPRESSION:
            return Shape.FUNCTION if reading.called else Shape.EXPRESSION
        return Shape.ASYNC_BODY if reading.frame is Frame.BODY else Shape.SCRIPT

    def readings_of(self, text: str) -> tuple[Reading, ...]:
        """Return the readings that apply to ``text``, which ``read`` has returned."""
        taken: list[Reading] = []
        for reading in self.readings:
            if (not taken or reading.also) and (reading.when is None or reading.when.match(text)):
                taken.append(reading)
        return tuple(taken)


def _without_return(text: str) -> str:
    """Return ``text`` as SeleniumBase's ``evaluate`` sends it (seleniumbase 4.56, core/sb_cdp.py)."""
    *lines, last = text.strip().split("\n")
    if last.strip().startswith("return "):
        return "\n".join([*lines, last.strip().removeprefix("return ")]).strip()
    return text.strip()


def sink_ids() -> tuple[str, ...]:
    """Return the ids of all sinks, in the order of the data."""
    return tuple(sinks())


@cache
def sinks() -> Mapping[str, Sink]:
    """Return every sink by its id; raise ValueError for invalid data."""
    text = (files(__package__) / "sinks.toml").read_text(encoding="utf-8")
    found = {name: _sink(name, table) for name, table in tomllib.loads(text).items()}
    return MappingProxyType(found)


def _sink(name: str, table: dict[str, Any]) -> Sink:
    rows = table.pop("readings")
    readings = tuple(_reading(row) for row in rows)
    for index, reading in enumerate(readings):
        together = {reading.frame, *(each.frame for each in readings[index + 1 :] if each.also)}
        if len(together) > 1 and together not in _FRAMES_TOGETHER:
            raise ValueError(f"sink {name}: no comparison for the frames {', '.join(sorted(together))}")
    parameters, target = tuple(table.pop("parameters", ())), Target(table.pop("target"))
    bindings = MappingProxyType(table.pop("bindings", {}))
    return Sink(id=name, target=target, readings=readings, parameters=parameters, bindings=bindings, **table)


def _reading(row: dict[str, Any]) -> Reading:
    when = row.pop("when", None)
    pattern = None if when is None else re.compile(when.replace(r"\s", f"[{SPACE}]"))
    return Reading(frame=Frame(row.pop("frame")), when=pattern, **row)
