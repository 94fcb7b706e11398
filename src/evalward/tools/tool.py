"""One tool as the operator declares it (contract.md §4): a frozen Pydantic model and its checks.

The operation type is declared here and never sent by a caller: the author of the arguments must not choose how they
are judged.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictStr, model_validator
from pydantic_core import PydanticCustomError

from evalward.field_names import folded
from evalward.guard.target import TARGET_ALIASES, Shape, Target
from evalward.policy.fields import AS_DICT, FROZEN, Bindings, TargetName, ToolName, problem
from evalward.policy.named_sink import UnknownSink, asked_sink
from evalward.tools.kinds import MAX_RULES, FieldKind, Language, LeastHardening, Rule
from evalward.tools.pointer import last_step, steps_of
from evalward.tools.schema_check import check_input_schema
from evalward.tools.schema_places import Place, at, root_place, walk

SOURCE_FIELDS = ("body", "code", "script", "source", "expression", "javascript", "function", "pageFunction")
"""Names under which tools are known to take source text: the default of ``source_fields``."""
FORBIDDEN_FIELDS = ("filename", "sourcePath")
"""The default of ``forbidden_fields`` of an eval tool: code that arrives by path cannot be judged."""
_EVAL_ONLY = ("target", "shape", "sink", "bindings", "hardening", "language", "source_fields", "when")
_TEXTS = frozenset({FieldKind.SOURCE})
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


def _sink(text: str) -> str:
    try:
        return asked_sink(text).id
    except UnknownSink as refusal:
        raise problem("sink", "unknown sink", allowed_of(refusal)) from None


FieldPath = Annotated[StrictStr, AfterValidator(_field)]
InputSchema = Annotated[Mapping[str, Any], FROZEN, AS_DICT, AfterValidator(check_input_schema)]


class Declaration(BaseModel):
    """A part of a manifest: immutable, with no unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)


class When(Declaration):
    """For a tool with several operations: it evaluates if and only if ``field`` is ``equals``."""

    field: Annotated[StrictStr, Field(min_length=1, max_length=128)]
    equals: Annotated[StrictStr, Field(min_length=1, max_length=256)]


class Tool(Declaration):
    """One tool. ``operation_type`` has no default, so that every tool is declared explicitly.

    ``source_fields`` and ``forbidden_fields`` are names, which hold at every depth of the arguments, or JSON
    Pointers, in which ``*`` is any element; left out, the defaults of this module that ``input_schema`` declares
    hold. ``fields`` gives the kind of a field, in every tool type; a pointer takes precedence over a name. In a tool
    that is not an eval tool, a source field needs its own ``target``. ``sink`` names what the tool does with the text
    (``guard.sinks``), and with it target, readings and bindings. Without one ``target`` says where it runs; ``shape``
    left out means that a payload must be safe in each that it could have. ``hardening`` may make the policy's stricter.
    ``language`` is what the server compiles to JavaScript before it evaluates the text.
    """

    name: ToolName
    operation_type: OperationType
    description: Annotated[StrictStr, Field(max_length=4096)] = ""
    target: TargetName | None = None
    shape: Shape | None = None
    sink: Annotated[StrictStr, AfterValidator(_sink)] | None = None
    bindings: Bindings = Field(default_factory=dict)
    hardening: LeastHardening | None = None
    language: Language | None = None
    source_fields: Annotated[tuple[FieldPath, ...], Field(min_length=1, max_length=64)] | None = None
    forbidden_fields: Annotated[tuple[FieldPath, ...], Field(max_length=64)] | None = None
    fields: Annotated[Mapping[FieldPath, Rule], Field(max_length=MAX_RULES), FROZEN, AS_DICT] = Field(
        default_factory=dict
    )
    when: When | None = None
    input_schema: InputSchema | None = None

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, data: Any) -> Any:
        """Take the target from the sink, and reject contradictions to it."""
        if not isinstance(data, Mapping) or not isinstance(data.get("sink"), str):
            return data
        bindings = data.get("bindings")
        try:
            sink = asked_sink(data["sink"], bindings=bindings if isinstance(bindings, Mapping) else None)
            if data.get("shape") is not None:
                asked_sink(data["sink"], shape=str(data["shape"]))
            if data.get("target") not in {None, sink.target, *_aliases_of(sink.target)}:
                raise at_field("target", f"the sink {sink.id} has another target", sink.target)
        except UnknownSink as refusal:
            field = refusal.repair.field if refusal.repair and refusal.repair.field else "sink"
            dotted = field.removeprefix("/").replace("/", ".")
            raise at_field(dotted, refusal.message, allowed_of(refusal)) from None
        return {**data, "target": sink.target}

    @model_validator(mode="after")
    def _check(self) -> Self:
        self._check_kinds(self.place)
        if self.operation_type is not OperationType.EVAL:
            return self._check_other()
        if self.target is None:
            raise at_field(
                "target", "an eval tool needs a sink or a target", "main, renderer, node, sandbox, page"
            )
        start = self.place
        for text in self.source_fields or ():
            _check_declared("source_fields", text, start, of_text=True)
        if not self.sources:
            names = ", ".join(SOURCE_FIELDS)
            raise at_field("source_fields", "the eval tool has no source field in its input_schema", names)
        self._check_when(start)
        return self

    @property
    def is_eval(self) -> bool:
        """Whether the tool evaluates its source fields, in all or some of its operations."""
        return self.operation_type is OperationType.EVAL

    @cached_property
    def place(self) -> Place:
        """The declarations of ``input_schema`` about the arguments."""
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

    def _check_kinds(self, start: Place) -> None:
        for text, rule in self.fields.items():
            _check_declared(f"fields.{text}", text, start, of_text=rule.kind in _TEXTS)
            if rule.kind is FieldKind.SOURCE and rule.realm is None and not self.is_eval:
                raise at_field(
                    f"fields.{text}", "a source field needs a sink or a target", ", ".join([*Target, "page"])
                )
            if text in (self.source_fields or ()):
                raise at_field(f"fields.{text}", "source_fields name it already", "one of both")
        self._check_lookalikes(start)

    def _check_lookalikes(self, start: Place) -> None:
        judged = [text for text, rule in self.fields.items() if rule.kind is not FieldKind.DATA]
        judged += self.sources if self.is_eval else ()
        names = {last_step(text): folded(last_step(text)) for text in judged}
        for steps, _ in walk(start):
            name = steps[-1]
            meant = [each for each, fold in names.items() if fold == folded(name) and each != name]
            if meant and name not in names and name not in self.fields:
                raise at_field(
                    "input_schema",
                    f"{name!a} can be taken for the {'source ' if meant[0] in self.sources else ''}field {meant[0]}",
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


def allowed_of(refusal: UnknownSink) -> str:
    """Return the allowed names of a rejected sink, the closest names first."""
    listed = refusal.repair.allowed if refusal.repair is not None else None
    names = [*listed] if isinstance(listed, Sequence) else []
    return ", ".join(dict.fromkeys([*refusal.similar_refs, *names])) or "leave it out"


def _aliases_of(target: Target) -> set[str]:
    return {name for name, meant in TARGET_ALIASES.items() if meant is target}


def at_field(field: str, message: str, allowed: str) -> PydanticCustomError:
    """Return a validation error about ``field`` of a tool."""
    return PydanticCustomError("tool", "{problem}", {"problem": message, "allowed": allowed, "field": field})


def _check_declared(field: str, text: str, start: Place, *, of_text: bool) -> None:
    if text.startswith("/"):
        found = at(steps_of(text), start)
        places = [] if found is None else [found]
    else:
        places = [place for steps, place in walk(start) if steps[-1] == text]
        if not places and not start.declares:
            return
    if not places:
        raise at_field(field, f"the input_schema lacks {text!a}", ", ".join(start.names) or "no field")
    if of_text and not any(place.takes_text() for place in places):
        raise at_field(field, f"{text!a} is no text in the input_schema", "a field of type string")
