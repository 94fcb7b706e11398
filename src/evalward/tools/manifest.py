"""What an operator declares about each tool (contract.md §4), as frozen Pydantic models.

The operation type is declared here and never sent by a caller: whoever writes the arguments cannot choose how they
are judged.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictStr, model_validator
from pydantic_core import PydanticCustomError

from evalward.errors import canonical_json
from evalward.guard.target import Shape  # noqa: TC001 - Pydantic reads the annotations
from evalward.policy.fields import AS_DICT, FROZEN, Bindings, TargetName, ToolName, problem
from evalward.tools.names import folded
from evalward.tools.pointer import ANY, steps_of
from evalward.tools.schema import Place, at, root_place, walk
from evalward.tools.schema_check import check_input_schema

SOURCE_FIELDS = ("body", "code", "script", "source", "expression", "javascript", "function", "pageFunction")
"""Names under which tools are known to take source text: the default of ``source_fields``."""
FORBIDDEN_FIELDS = ("filename", "sourcePath")
"""The default of ``forbidden_fields`` of an eval tool: code that arrives by path cannot be judged."""
MAX_TOOLS = 512
_EVAL_ONLY = ("target", "shape", "bindings", "source_fields", "when")
_FIELD = re.compile(r"(/([^~/\x00-\x1f]|~[01])+)+|[^~/\x00-\x1f*]{1,128}")
_FIELDS_MEAN = "a field's name (at any depth), or a JSON Pointer such as /steps/*/code (one place)"


class OperationType(StrEnum):
    """What a tool does; only EVAL goes through the guard."""

    COMMAND = "command"
    QUERY = "query"
    EVAL = "eval"
    SCREENSHOT = "screenshot"
    LOGS = "logs"
    DIALOG = "dialog"
    WINDOW_INFO = "window_info"


def _field(text: str) -> str:
    if _FIELD.fullmatch(text) is None:
        raise problem("field", "not a field", _FIELDS_MEAN)
    return text


FieldPath = Annotated[StrictStr, AfterValidator(_field)]
InputSchema = Annotated[Mapping[str, Any], FROZEN, AS_DICT, AfterValidator(check_input_schema)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)


class When(_Part):
    """For a tool that serves several operations: it evaluates if and only if ``field`` is ``equals``."""

    field: Annotated[StrictStr, Field(min_length=1, max_length=128)]
    equals: Annotated[StrictStr, Field(min_length=1, max_length=256)]


class Tool(_Part):
    """One tool. ``operation_type`` has no default, so that none can be routed by omission.

    ``source_fields`` and ``forbidden_fields`` are names, which hold at every depth of the arguments, or JSON Pointers,
    in which ``*`` is any element; left out, the defaults of this module that ``input_schema`` declares hold.
    ``shape`` left out means that a payload must be safe in each that it could have.
    """

    name: ToolName
    operation_type: OperationType
    description: Annotated[StrictStr, Field(max_length=4096)] = ""
    target: TargetName | None = None
    shape: Shape | None = None
    bindings: Bindings = Field(default_factory=dict)
    source_fields: Annotated[tuple[FieldPath, ...], Field(min_length=1, max_length=64)] | None = None
    forbidden_fields: Annotated[tuple[FieldPath, ...], Field(max_length=64)] | None = None
    when: When | None = None
    input_schema: InputSchema | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.operation_type is not OperationType.EVAL:
            return self._check_other()
        if self.target is None:
            raise at_field("target", "an eval tool needs a target", "main, renderer, node, sandbox, page")
        start = self.place
        for text in self.source_fields or ():
            _check_source(text, start)
        if not self.sources:
            names = ", ".join(SOURCE_FIELDS)
            raise at_field("source_fields", "the eval tool has no source field in its input_schema", names)
        self._check_lookalikes(start)
        self._check_when(start)
        return self

    @property
    def is_eval(self) -> bool:
        """Whether the tool evaluates what it is given, in all or some of its operations."""
        return self.operation_type is OperationType.EVAL

    @cached_property
    def place(self) -> Place:
        """What ``input_schema`` declares about the arguments."""
        return root_place(self.input_schema or {})

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The source fields in force."""
        if self.source_fields is not None or self.input_schema is None:
            return self.source_fields or SOURCE_FIELDS
        declared = {steps[-1] for steps, place in walk(self.place) if place.takes_text()}
        return tuple(name for name in SOURCE_FIELDS if name in declared)

    @cached_property
    def forbidden(self) -> tuple[str, ...]:
        """The forbidden fields in force."""
        if self.forbidden_fields is None:
            return FORBIDDEN_FIELDS if self.is_eval else ()
        return self.forbidden_fields

    def _check_other(self) -> Self:
        for name in _EVAL_ONLY:
            if name in self.model_fields_set:
                raise at_field(name, "only an eval tool has it", "operation_type: eval")
        return self

    def _check_lookalikes(self, start: Place) -> None:
        names = {last_step(text): folded(last_step(text)) for text in self.sources}
        for steps, _ in walk(start):
            name = steps[-1]
            meant = [each for each, fold in names.items() if fold == folded(name) and each != name]
            if meant and name not in names:
                raise at_field(
                    "input_schema",
                    f"{name!a} can be taken for the source field {meant[0]}",
                    "one spelling of it",
                )

    def _check_when(self, start: Place) -> None:
        if self.when is None:
            return
        if not start.declared(self.when.field):
            names = ", ".join(start.names)
            raise at_field("when.field", f"the input_schema lacks {self.when.field!a}", names)
        values = [value for node in start.member(self.when.field).nodes for value in node.get("enum", ())]
        if values and self.when.equals not in values:
            allowed = ", ".join(map(str, values))
            raise at_field("when.equals", f"the input_schema does not list {self.when.equals!a}", allowed)


class Manifest(_Part):
    """Every tool of one MCP server. ``digest`` identifies what was declared, however it was spelled."""

    api_version: Literal["evalward/v1"]
    server: Annotated[StrictStr, Field(max_length=256)] = ""
    tools: tuple[Tool, ...]

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not 1 <= len(self.tools) <= MAX_TOOLS:
            raise problem("tools", f"{len(self.tools)} tools", f"1 to {MAX_TOOLS} tools")
        seen: set[str] = set()
        for tool in self.tools:
            if tool.name in seen:
                raise problem("repeated", f"tool {tool.name}: name: given twice", "each tool once")
            seen.add(tool.name)
        return self

    def __iter__(self) -> Iterator[Tool]:  # type: ignore[override]  # a manifest is its tools
        return iter(self.tools)

    def tool(self, name: str) -> Tool | None:
        """Return the tool called exactly ``name``."""
        return self._by_name.get(name)

    @cached_property
    def _by_name(self) -> Mapping[str, Tool]:
        return {tool.name: tool for tool in self.tools}

    @cached_property
    def digest(self) -> str:
        """Lower-case hex SHA-256 of the canonical JSON of the tools with every default filled in."""
        declared = [
            {
                **tool.model_dump(mode="json"),
                "source_fields": tool.sources,
                "forbidden_fields": tool.forbidden,
            }
            for tool in self.tools
        ]
        return hashlib.sha256(
            canonical_json({"api_version": self.api_version, "tools": declared})
        ).hexdigest()


def at_field(field: str, message: str, allowed: str) -> PydanticCustomError:
    """Return a validation error about ``field`` of a tool."""
    return PydanticCustomError("tool", "{problem}", {"problem": message, "allowed": allowed, "field": field})


def last_step(text: str) -> str:
    """Return the name that a field's path ends in, or that precedes its last ``*``."""
    named = [step for step in steps_of(text) if step != ANY] if text.startswith("/") else [text]
    return named[-1] if named else ""


def _check_source(text: str, start: Place) -> None:
    if text.startswith("/"):
        found = at(steps_of(text), start)
        places = [] if found is None else [found]
    else:
        places = [place for steps, place in walk(start) if steps[-1] == text]
        if not places and not start.declares:
            return
    if not places:
        raise at_field(
            "source_fields", f"the input_schema lacks {text!a}", ", ".join(start.names) or "no field"
        )
    if not any(place.takes_text() for place in places):
        raise at_field("source_fields", f"{text!a} is no text in the input_schema", "a field of type string")
