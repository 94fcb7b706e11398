"""Build the text of a program from its plan: templates filled from the inside out, each with unique names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evalward.fuzz.axes import load_axes
from evalward.fuzz.key_spellings import spellings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from evalward.fuzz.axes import Road, Stage, Value
    from evalward.fuzz.plan import Plan
    from evalward.guard.target import Shape

_NAMED: Final = sorted([*spellings("a"), "body", *"hcatvxpqr"], key=len, reverse=True)
_HOLE: Final = re.compile(rf"@([kw]\d|{'|'.join(_NAMED)})")
_FRESH: Final = frozenset("pqrx")
_NAME: Final = re.compile(r"[a-z]\d+")

INERT_TEXT: Final = "return 1"
"""The text for a builder; it gives the guard no hint."""
TELLTALE_PATH: Final = "process.title"
TELLTALE_TEXT: Final = f"return {TELLTALE_PATH}"
"""The text for a builder in the oracle: its run is visible."""


@dataclass(frozen=True, slots=True)
class Program:
    """A program and the shape in which it is judged and run."""

    text: str
    shape: Shape | None


def compose(plan: Plan, *, telltale: bool = False) -> Program:
    """Return the program of ``plan``; ``telltale`` gives builders a text whose run an oracle can see."""
    return _Composer(plan, telltale=telltale).program()


class _Composer:
    def __init__(self, plan: Plan, *, telltale: bool) -> None:
        axes = load_axes(benign=plan.benign)
        gadget, road, carrier, stage, use, setting = plan.row
        second_gadget, second_carrier = plan.second_gadget, plan.second_carrier
        self._gadgets = [axes.gadget[gadget], axes.gadget[gadget if second_gadget is None else second_gadget]]
        self._carriers = [axes.carrier[carrier]]
        if second_carrier is not None:
            self._carriers.append(axes.carrier[second_carrier])
        self._road: Road = axes.road[road]
        self._stage: Stage = axes.stage[stage]
        self._use, self._setting = axes.use[use], axes.setting[setting]
        self._text = TELLTALE_TEXT if telltale else INERT_TEXT
        self._fresh = 0

    def program(self) -> Program:
        road = self._road
        keys = [f"({self._fill(self._gadgets[i % 2], spellings(word))})" for i, word in enumerate(road.keys)]
        body = self._carry("key", keys[0], lambda key: self._held([key, *keys[1:]]))
        return Program(self._fill(self._setting, {"body": body}), self._setting.shape)

    def _held(self, keys: Sequence[str]) -> str:
        holes = {f"k{i}": key for i, key in enumerate(keys)}
        holes |= {f"w{i}": word for i, word in enumerate(self._road.keys)}
        holder = self._fill_text(self._road.holder, holes)
        return self._carry("holder", holder, lambda held: self._reached(holes | {"h": held}))

    def _reached(self, holes: Mapping[str, str]) -> str:
        capability = self._fill(self._road, holes)
        return self._carry("capability", capability, self._used)

    def _used(self, capability: str) -> str:
        raw = self._argument()
        quoted = raw if raw.isdigit() and "text-argument" not in self._road.needs else f'"{raw}"'
        callee = capability if _NAME.fullmatch(capability) else f"({capability})"
        if not self._road.builder:
            return self._use_of(callee, quoted, raw) + ";"
        if self._use.gives and "built" not in self._stage.carries:
            return f"({self._use_of(callee, quoted, raw)})();"
        # A use without the call's result gets the built function.
        return self._carry("built", f"{callee}({quoted})", lambda built: self._use_of(built, "0", "0") + ";")

    def _use_of(self, callee: str, argument: str, raw: str) -> str:
        return self._fill(self._use, {"c": callee, "a": argument, "t": raw})

    def _argument(self) -> str:
        if not self._road.builder:
            raw = self._road.argument or "0"
            return TELLTALE_PATH if raw == "1" and self._text == TELLTALE_TEXT else raw
        return self._text

    def _carry(self, what: str, value: str, rest: Callable[[str], str]) -> str:
        if what not in self._stage.carries:
            return rest(value)
        return self._through(self._carriers, value, rest)

    def _through(self, carriers: Sequence[Value], value: str, rest: Callable[[str], str]) -> str:
        if not carriers:
            return rest(value)
        first, *others = carriers
        name = self._name("x")
        body = self._through(others, name, rest)
        return self._fill(first, {"v": value, "x": name, "body": body})

    def _fill(self, value: Value, holes: Mapping[str, str]) -> str:
        return self._fill_text(value.text, holes)

    def _fill_text(self, template: str, holes: Mapping[str, str]) -> str:
        names = dict(holes)

        def content(match: re.Match[str]) -> str:
            hole = match[1]
            if hole not in names and hole in _FRESH:
                names[hole] = self._name(hole)
            return names[hole]

        return _HOLE.sub(content, template)

    def _name(self, letter: str) -> str:
        self._fresh += 1
        return f"{letter}{self._fresh}"
