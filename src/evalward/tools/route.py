"""Which validator a call goes to, and what the guard has to see of it: a pure function of manifest and arguments.

The declared operation type decides, and for a tool of several operations the field that ``when`` names. Everything
that would make the decision unsure is refused: a key that is not a source field but can be taken for one, a source
field that is no text, a field of an eval call that the schema does not declare.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from evalward.errors import Code, CodedError, Repair
from evalward.tools.manifest import last_step
from evalward.tools.names import folded
from evalward.tools.pointer import ANY, fits, pointer_of, steps_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evalward.tools.manifest import Tool, When
    from evalward.tools.schema import Place

MAX_SOURCES: Final = 64
"""Source fields that one call may hold."""
_LOGGABLE = re.compile(r"[A-Za-z0-9_$.*-]{1,64}")
_LOGGED_LENGTH = 128
_ROUTING_NAMES: Final = frozenset({folded("operation_type")})


class SourceField(NamedTuple):
    """A source field of a call. ``logged`` is its path without any name that only the caller knows."""

    path: str
    code: bytes
    logged: str


@dataclass(frozen=True, slots=True)
class Route:
    """Where a call goes: to the guard with its ``sources`` (at least one), or to the command validator with none."""

    tool: Tool
    is_eval: bool
    sources: tuple[SourceField, ...] = ()


def route(tool: Tool, arguments: Mapping[str, Any]) -> Route:
    """Return where a call of ``tool`` with ``arguments`` goes; raise CodedError for one that cannot go anywhere.

    TOOL_FIELD_FORBIDDEN for a forbidden field, STRICT_CONSTANT_OVERRIDE for a sent operation type, INVALID_INPUT for
    the rest.
    """
    evaluates = tool.is_eval and (tool.when is None or _selected(tool, tool.when, arguments))
    search = _Search(tool, evaluates=evaluates)
    search.object(arguments, (), (), tool.place)
    if not evaluates:
        return Route(tool, is_eval=False)
    if not search.found:
        raise CodedError(
            Code.INVALID_INPUT,
            f"The call of {tool.name} has no source field, so there is nothing to judge.",
            repair=Repair(field=tool.sources[0], required=[*tool.sources]),
        )
    return Route(tool, is_eval=True, sources=tuple(search.found))


def _selected(tool: Tool, when: When, arguments: Mapping[str, Any]) -> bool:
    """Say whether the call selects the operation that evaluates; raise CodedError when that is not sure."""
    values = [value for node in tool.place.member(when.field).nodes for value in node.get("enum", ())]
    allowed = list(dict.fromkeys(map(str, values or [when.equals])))
    for key in arguments:
        if key != when.field and folded(key) == folded(when.field):
            raise _ambiguous(key, when.field)
    if when.field not in arguments:
        raise CodedError(
            Code.MISSING_FIELD,
            f"The call of {tool.name} does not say which operation it is.",
            repair=Repair(field=when.field, required=when.field, allowed=allowed),
        )
    value = arguments[when.field]
    known = isinstance(value, str) and (not values or value in values)
    if not known or (value != when.equals and folded(value).strip() == folded(when.equals)):
        raise CodedError(
            Code.INVALID_INPUT,
            f"The call of {tool.name} names no operation of the tool.",
            repair=Repair(field=when.field, allowed=allowed),
        )
    return bool(value == when.equals)


class _Search:
    """One pass over the arguments that finds source fields and refuses what could hide one."""

    def __init__(self, tool: Tool, *, evaluates: bool) -> None:
        self.found: list[SourceField] = []
        self._tool = tool
        self._evaluates = evaluates
        sources = tool.sources if evaluates else ()
        self._names = frozenset(text for text in sources if not text.startswith("/"))
        self._patterns = [steps_of(text) for text in sources if text.startswith("/")]
        # Names that may be logged: they come from the manifest.
        self._own_names = frozenset(step for steps in self._patterns for step in steps) | self._names
        self._folds = {folded(last_step(text)): last_step(text) for text in sources}
        self._forbidden = frozenset(folded(text) for text in tool.forbidden if not text.startswith("/"))
        self._forbidden_patterns = [steps_of(text) for text in tool.forbidden if text.startswith("/")]

    def object(
        self, members: Mapping[str, Any], steps: tuple[str | int, ...], known: tuple[str, ...], place: Place
    ) -> None:
        """Look at every member of one object; ``known`` are the steps as the log may show them."""
        for key, value in members.items():
            here = (*steps, key)
            declared = place.declared(key)
            self._check_key(key, here, declared=declared, place=place)
            shown = (*known, key if declared or key in self._own_names else ANY)
            if key in self._names or self._is_source(here):
                self._take(value, here, shown)
            else:
                self._value(value, here, shown, place.member(key))

    def _value(self, value: Any, steps: tuple[str | int, ...], known: tuple[str, ...], place: Place) -> None:
        if isinstance(value, dict):
            self.object(value, steps, known, place)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                here, shown = (*steps, index), (*known, str(index))
                if self._is_source(here):
                    self._take(item, here, shown)
                else:
                    self._value(item, here, shown, place.element(index))

    def _is_source(self, steps: tuple[str | int, ...]) -> bool:
        return any(fits(pattern, steps) for pattern in self._patterns)

    def _check_key(self, key: str, steps: tuple[str | int, ...], *, declared: bool, place: Place) -> None:
        fold = folded(key)
        if fold in self._forbidden or any(fits(pattern, steps) for pattern in self._forbidden_patterns):
            raise CodedError(
                Code.TOOL_FIELD_FORBIDDEN,
                f"The field {key!a} of {self._tool.name} is forbidden: what it brings in cannot be judged.",
                repair=Repair(
                    field=pointer_of(steps), allowed=[*self._tool.sources] if self._evaluates else None
                ),
            )
        if declared:
            return
        if fold in _ROUTING_NAMES:
            raise CodedError(
                Code.STRICT_CONSTANT_OVERRIDE,
                "The manifest declares the operation type of a tool; a call cannot choose it.",
                repair=Repair(field=pointer_of(steps), allowed=place.names),
            )
        meant = self._folds.get(fold)
        if meant is not None and key != meant:
            raise _ambiguous(pointer_of(steps), meant)
        if self._evaluates and place.declares:
            raise CodedError(
                Code.INVALID_INPUT,
                f"The input schema of {self._tool.name} does not declare the field {key!a}.",
                repair=Repair(field=pointer_of(steps), allowed=place.names),
            )

    def _take(self, value: Any, steps: tuple[str | int, ...], known: tuple[str, ...]) -> None:
        path = pointer_of(steps)
        if not isinstance(value, str):
            raise CodedError(
                Code.INVALID_INPUT,
                f"The source field {path} of {self._tool.name} must be a string.",
                repair=Repair(field=path, allowed=["a string"]),
            )
        if len(self.found) == MAX_SOURCES:
            raise CodedError(
                Code.BATCH_TOO_LARGE,
                f"A call may hold {MAX_SOURCES} source fields.",
                repair=Repair(field=path, limit="source_fields", allowed=MAX_SOURCES),
            )
        self.found.append(SourceField(path, value.encode(), _loggable(known)))


def _loggable(steps: tuple[str, ...]) -> str:
    """Return ``steps`` as the audit log takes them: whatever it would refuse becomes ``*``."""
    path = pointer_of(step if _LOGGABLE.fullmatch(step) else ANY for step in steps)
    return path if len(path) <= _LOGGED_LENGTH else f"/{ANY}"


def _ambiguous(field: str, meant: str) -> CodedError:
    return CodedError(
        Code.INVALID_INPUT,
        f"The field {field!a} can be taken for {meant}.",
        repair=Repair(field=field, allowed=[meant]),
    )
