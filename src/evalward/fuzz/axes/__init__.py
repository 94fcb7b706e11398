"""The axes: the parts that programs are composed of, as data; one file per axis (guard.md §5)."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from evalward.guard.target import Shape

if TYPE_CHECKING:
    from collections.abc import Mapping

AXES: Final = ("gadget", "road", "carrier", "stage", "use", "setting")
"""The axes in the order in which a plan holds their values."""

_NOT_DATA: Final = frozenset({"object", "builder"})  # denied data is text and cannot build a function


@dataclass(frozen=True, slots=True)
class Value:
    """One value of an axis. ``text`` is its template; ``needs`` and ``lacks`` exclude values of other axes."""

    axis: str
    name: str
    text: str = ""
    needs: frozenset[str] = frozenset()
    lacks: frozenset[str] = frozenset()

    def fits(self, other: Value) -> bool:
        """Whether one program can hold both: neither lacks what the other needs."""
        return not (self.needs & other.lacks or other.needs & self.lacks)


@dataclass(frozen=True, slots=True)
class Road(Value):
    """A path to a capability: gadgets spell the ``keys``, and ``text`` reads the callable out of ``holder``.

    ``builder``: the callable makes a function from text; otherwise the call with ``argument`` has the effect.
    ``data``: the value is denied data, and any read of it is the effect. ``reaches`` is the oracle's name
    of the capability, None for a benign twin. ``lazy``: the function from a builder does not run its body when called.
    """

    keys: tuple[str, ...] = ()
    holder: str = ""
    builder: bool = False
    data: bool = False
    reaches: str | None = None
    argument: str | None = None
    lazy: bool = False


@dataclass(frozen=True, slots=True)
class Stage(Value):
    """The stages (key, holder, capability, built) that the carrier applies to."""

    carries: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Use(Value):
    """A way of use; ``gives``: the expression evaluates to the call's result."""

    gives: bool = False


@dataclass(frozen=True, slots=True)
class Setting(Value):
    """The text around the program, and the shape in which it is judged; None: undeclared."""

    shape: Shape | None = None


@dataclass(frozen=True, slots=True)
class Axes:
    """Every axis; the first value of each is the simplest, which shrinking prefers."""

    gadget: tuple[Value, ...]
    road: tuple[Road, ...]
    carrier: tuple[Value, ...]
    stage: tuple[Stage, ...]
    use: tuple[Use, ...]
    setting: tuple[Setting, ...]

    def all(self) -> tuple[tuple[Value, ...], ...]:
        """Return the axes in the order of AXES."""
        return (self.gadget, self.road, self.carrier, self.stage, self.use, self.setting)


@cache
def load_axes(*, benign: bool = False) -> Axes:
    """Read the axes; ``benign`` replaces the paths to capabilities, and the built words, by those of the twins."""
    return Axes(
        gadget=tuple(Value("gadget", name, **_common(row)) for name, row in _rows("gadgets")),
        road=tuple(_road(name, row) for name, row in _rows("harmless" if benign else "roads")),
        carrier=tuple(
            Value("carrier", name, **_common(row))
            for file in ("carriers", "slots")
            for name, row in _rows(file)
        ),
        stage=tuple(
            Stage("stage", name, **_common(row), carries=frozenset(row["carries"]))
            for name, row in _rows("stages")
        ),
        use=tuple(_use(name, row) for name, row in _rows("uses")),
        setting=tuple(
            Setting("setting", name, **_common(row), shape=Shape(row["shape"]) if "shape" in row else None)
            for name, row in _rows("settings")
        ),
    )


def _road(name: str, row: Mapping[str, Any]) -> Road:
    builder = row["kind"] == "builder"
    data = row["kind"] == "data"
    harmful = "reaches" in row or builder
    unfit = {"callable", *_NOT_DATA} if data else {"data"}
    return Road(
        "road",
        name,
        text=row["reach"],
        needs=frozenset(row.get("needs", ())),
        lacks=frozenset(row.get("lacks", ())) | unfit,
        keys=tuple(row["keys"]),
        holder=row["holder"],
        builder=builder,
        data=data,
        reaches=row.get("reaches", "codegen") if harmful else None,
        argument=row.get("argument"),
        lazy=row.get("lazy", False),
    )


def _use(name: str, row: Mapping[str, Any]) -> Use:
    common = _common(row)
    if "data" in common["needs"]:
        common["lacks"] |= _NOT_DATA
    else:
        common["needs"] |= {"callable"}
    return Use("use", name, **common, gives=row.get("gives", False))


def _common(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "text": row.get("text", ""),
        "needs": frozenset(row.get("needs", ())),
        "lacks": frozenset(row.get("lacks", ())),
    }


def _rows(name: str) -> list[tuple[str, Any]]:
    text = files(__package__).joinpath(f"{name}.toml").read_text(encoding="utf-8")
    return list(tomllib.loads(text).items())
