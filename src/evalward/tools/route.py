"""Route a tool call: to the guard or to the command validator, with the fields to judge; a pure function.

The declared operation type decides, and for a tool of several operations the field that ``when`` names. Ambiguous
calls are rejected: a key that looks like a source field, a source field that is not text, a field of an eval call
that the schema does not declare.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from evalward.errors import Code, CodedError, Repair
from evalward.field_names import folded
from evalward.tools.field_search import FieldRules
from evalward.tools.kinds import FieldKind
from evalward.tools.pointer import ANY, fits, pointer_of, steps_of
from evalward.tools.tool import OperationType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evalward.tools.kinds import FieldRule
    from evalward.tools.schema_places import Place
    from evalward.tools.tool import Tool, When

MAX_SOURCES: Final = 64
"""Fields to judge that one call may hold."""
_LOGGABLE = re.compile(r"[A-Za-z0-9_$.*-]{1,64}")
_LOGGED_LENGTH = 128
_NO_OBJECTS: Final = frozenset({FieldKind.URL, FieldKind.MARKUP, FieldKind.PATH})
# The characters that end or escape a literal of ECMA-262, or end the script element around it.
_WITHIN_LITERAL = r"^[^\"'`\\<\r\n\u2028\u2029\0]*$"
_ENDS_LITERAL = re.compile(r"[\"'`\\<\r\n\u2028\u2029\0]|\$\{")
# For a server that escapes quotes, unless each quote has a backslash before it.
_WITHOUT_ESCAPED_QUOTE = r"^(?:[^\\]|\\+[^\\\"'`])*\\*$"
_ESCAPED_QUOTE = re.compile(r"\\[\"'`]")
_ROUTING_NAMES: Final = frozenset({folded("operation_type")})


class CallField(NamedTuple):
    """A field of a call that has to be judged.

    ``path`` is its JSON Pointer, ``code`` the UTF-8 of its text, or of the JSON of a number or boolean. ``logged`` is
    the path without names that come from the caller, ``names`` the members between the field of ``rule`` and the
    value.
    """

    path: str
    code: bytes
    logged: str
    rule: FieldRule
    names: tuple[str, ...] = ()
    is_text: bool = True

    @property
    def kind(self) -> FieldKind:
        """What the field carries."""
        return self.rule.kind


@dataclass(frozen=True, slots=True)
class Route:
    """The route of a call: to the guard, with at least one source field, or to the command validator.

    ``fields`` are all fields that must be judged, also those of a command, in the order of the arguments.
    """

    tool: Tool
    is_eval: bool
    fields: tuple[CallField, ...] = ()

    @property
    def sources(self) -> tuple[CallField, ...]:
        """The fields that are code."""
        return tuple(each for each in self.fields if each.kind is FieldKind.SOURCE)

    @property
    def operation_type(self) -> OperationType:
        """The operation type of this call: a tool with ``when`` is a command in its other operations."""
        if self.tool.is_eval and not self.is_eval:
            return OperationType.COMMAND
        return self.tool.operation_type


def route(tool: Tool, arguments: Mapping[str, Any]) -> Route:
    """Return the route of a call of ``tool`` with ``arguments``; raise CodedError for a call that cannot be routed.

    TOOL_FIELD_FORBIDDEN for a forbidden field, STRICT_CONSTANT_OVERRIDE for a sent operation type, INVALID_INPUT for
    the rest.
    """
    evaluates = tool.is_eval and (tool.when is None or _selected(tool, tool.when, arguments))
    search = _Search(tool, evaluates=evaluates)
    search.object(arguments, (), (), tool.place)
    found = tuple(search.found)
    if not evaluates:
        return Route(tool, is_eval=False, fields=found)
    if all(each.kind is not FieldKind.SOURCE for each in found):
        raise CodedError(
            Code.INVALID_INPUT,
            f"The call of {tool.name} has no source field, so there is nothing to judge.",
            repair=_missing_source(tool),
        )
    return Route(tool, is_eval=True, fields=found)


def _missing_source(tool: Tool) -> Repair:
    """Return the repair: supply the only source field, or one of several."""
    places = [text if text.startswith("/") else pointer_of([text]) for text in tool.sources]
    field = "" if ANY in steps_of(places[0]) else places[0]
    if len(places) == 1 and field:
        return Repair.missing(field)
    return Repair(field=field, allowed=[*tool.sources])


def _selected(tool: Tool, when: When, arguments: Mapping[str, Any]) -> bool:
    """Return whether the call selects the operation that evaluates; raise CodedError when that is ambiguous."""
    values = [value for node in tool.place.member(when.field).nodes for value in node.get("enum", ())]
    allowed = list(dict.fromkeys(map(str, values or [when.equals])))
    for key in arguments:
        if key != when.field and folded(key) == folded(when.field):
            raise _ambiguous(pointer_of([key]), when.field)
    if when.field not in arguments:
        raise CodedError(
            Code.MISSING_FIELD,
            f"The call of {tool.name} does not say which operation it is.",
            repair=Repair.missing(pointer_of([when.field]), allowed=allowed),
        )
    value = arguments[when.field]
    known = isinstance(value, str) and (not values or value in values)
    if not known or (value != when.equals and folded(value).strip() == folded(when.equals)):
        raise CodedError(
            Code.INVALID_INPUT,
            f"The call of {tool.name} names no operation of the tool.",
            repair=Repair(field=pointer_of([when.field]), allowed=allowed),
        )
    return bool(value == when.equals)


class _Search:
    """One pass over the arguments: collects the fields to judge and rejects calls that could hide one."""

    def __init__(self, tool: Tool, *, evaluates: bool) -> None:
        self.found: list[CallField] = []
        self._tool = tool
        self._evaluates = evaluates
        self._rules = FieldRules(tool, evaluates=evaluates)
        self._forbidden = frozenset(folded(text) for text in tool.forbidden if not text.startswith("/"))
        self._forbidden_patterns = [steps_of(text) for text in tool.forbidden if text.startswith("/")]

    def object(
        self, members: Mapping[str, Any], steps: tuple[str | int, ...], known: tuple[str, ...], place: Place
    ) -> None:
        """Visit every member of one object; ``known`` are the steps in the form for the log."""
        for key, value in members.items():
            here = (*steps, key)
            declared = place.declared(key)
            self._check_key(key, here, declared=declared, place=place)
            shown = (*known, key if declared or key in self._rules.own_names else ANY)
            self._member(key, value, here, shown, place.member(key))

    def _member(
        self, name: str | int, value: Any, steps: tuple[str | int, ...], known: tuple[str, ...], place: Place
    ) -> None:
        rule = self._rules.of(name, steps)
        if rule is not None and rule.within_quotes:
            self._check_quoted(value, steps, rule)
        if rule is None or rule.kind is FieldKind.DATA:
            self._value(value, steps, known, place)
        elif rule.kind is FieldKind.SOURCE:
            # In a tool that is not an eval tool, null stands for an absent source field.
            if value is not None or rule.realm is None:
                self._take(value, CallField(pointer_of(steps), b"", _loggable(known), rule))
        elif not _is_absent(value) and not place.has_default(value):
            self._leaves(value, rule, steps, known, ())

    def _value(self, value: Any, steps: tuple[str | int, ...], known: tuple[str, ...], place: Place) -> None:
        if isinstance(value, dict):
            self.object(value, steps, known, place)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                self._member(index, item, (*steps, index), (*known, str(index)), place.element(index))
        elif isinstance(value, str) and place.takes_only_containers():
            # Some frameworks parse a text here as JSON, and its fields would not be judged.
            raise CodedError(
                Code.INVALID_INPUT,
                f"The field {pointer_of(steps)} of {self._tool.name} is no text.",
                repair=Repair(field=pointer_of(steps), types=sorted(place.types())),
            )

    def _check_quoted(self, value: Any, steps: tuple[str | int, ...], rule: FieldRule) -> None:
        if value is None or isinstance(value, (bool, int, float)):
            return
        escaped = rule.within_quotes == "escaped"
        ends = _ESCAPED_QUOTE if escaped else _ENDS_LITERAL
        if not isinstance(value, str) or ends.search(value):
            raise CodedError(
                Code.INVALID_INPUT,
                f"The field {pointer_of(steps)} of {self._tool.name} is placed between quotes in a program.",
                repair=Repair(
                    field=pointer_of(steps), pattern=_WITHOUT_ESCAPED_QUOTE if escaped else _WITHIN_LITERAL
                ),
            )

    def _leaves(
        self,
        value: Any,
        rule: FieldRule,
        steps: tuple[str | int, ...],
        known: tuple[str, ...],
        names: tuple[str, ...],
    ) -> None:
        """Collect every value in a field; ``names`` are the members between the field and the value."""
        if isinstance(value, dict) and rule.kind in _NO_OBJECTS:
            # A server may use the keys too.
            self._take(value, CallField(pointer_of(steps), b"", _loggable(known), rule))
        elif isinstance(value, dict):
            for key, item in value.items():
                self._leaves(item, rule, (*steps, key), (*known, ANY), (*names, key))
        elif isinstance(value, list):
            for index, item in enumerate(value):
                self._leaves(item, rule, (*steps, index), (*known, str(index)), names)
        elif value is not None:
            self._take(value, CallField(pointer_of(steps), b"", _loggable(known), rule, names))

    def _check_key(self, key: str, steps: tuple[str | int, ...], *, declared: bool, place: Place) -> None:
        fold = folded(key)
        if fold in self._forbidden or any(fits(pattern, steps) for pattern in self._forbidden_patterns):
            raise CodedError(
                Code.TOOL_FIELD_FORBIDDEN,
                f"The field {key!a} of {self._tool.name} is forbidden: what it refers to cannot be judged.",
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
        meant = self._rules.meant_by(key)
        if meant is not None:
            raise _ambiguous(pointer_of(steps), meant)
        # A server may read a field in every tool although it declares it for one.
        if place.declares and (self._evaluates or not place.is_open):
            raise CodedError(
                Code.INVALID_INPUT,
                f"The input schema of {self._tool.name} does not declare the field {key!a}.",
                repair=Repair(field=pointer_of(steps), allowed=place.names),
            )

    def _take(self, value: Any, found: CallField) -> None:
        kind = found.rule.kind
        if not isinstance(value, str) and kind is not FieldKind.LAUNCH:
            raise CodedError(
                Code.INVALID_INPUT,
                f"The {kind} field {found.path} of {self._tool.name} must be a string.",
                repair=Repair(field=found.path, types=["string"]),
            )
        if len(self.found) == MAX_SOURCES:
            raise CodedError(
                Code.BATCH_TOO_LARGE,
                f"A call may hold {MAX_SOURCES} fields that are judged.",
                repair=Repair.passed("source_fields", MAX_SOURCES, field=found.path),
            )
        text = value if isinstance(value, str) else json.dumps(value)
        self.found.append(found._replace(code=text.encode(), is_text=isinstance(value, str)))


def _is_absent(value: Any) -> bool:
    """Whether a value is empty; numbers and booleans never are."""
    return value is None or (isinstance(value, (str, list, dict)) and not value)


def _loggable(steps: tuple[str, ...]) -> str:
    """Return ``steps`` in the form for the audit log: names that it does not accept become ``*``."""
    path = pointer_of(step if _LOGGABLE.fullmatch(step) else ANY for step in steps)
    return path if len(path) <= _LOGGED_LENGTH else f"/{ANY}"


def _ambiguous(field: str, meant: str) -> CodedError:
    return CodedError(
        Code.INVALID_INPUT,
        f"The field {field!a} can be taken for {meant}.",
        repair=Repair(field=field, allowed=[meant]),
    )
