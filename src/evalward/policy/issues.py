"""The errors in an operator's file: each with its key, its line, and what is allowed there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias, get_args

from pydantic import BaseModel
from pydantic_core.core_schema import ErrorType

from evalward.similar import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

Lines: TypeAlias = "Callable[[Sequence[str | int]], int | None]"
"""Gives the line, from 1, of the value at a path of keys and indices; None if it is not known."""

_DAY: Final = ("not a day", "a day such as 2027-03-31")
_MAPPING: Final = ("not a mapping", "a mapping")
_LIST: Final = ("not a list", "a list")
_TRUTH: Final = ("neither true nor false", "true, false")
_WHOLE: Final = ("not a whole number", "a whole number")
_EXPECTED: Final[Mapping[str, tuple[str, str]]] = {
    **dict.fromkeys(("bool_type", "bool_parsing"), _TRUTH),
    **dict.fromkeys(("int_type", "int_parsing", "int_parsing_size", "int_from_float"), _WHOLE),
    **dict.fromkeys(("float_type", "float_parsing", "finite_number"), ("not a number", "a number")),
    **dict.fromkeys(("list_type", "tuple_type", "set_type", "frozen_set_type"), _LIST),
    **dict.fromkeys(("dict_type", "mapping_type", "model_type", "model_attributes_type"), _MAPPING),
    **dict.fromkeys(
        ("date_type", "date_parsing", "date_from_datetime_parsing", "date_from_datetime_inexact"), _DAY
    ),
    "path_type": ("not a path", "a path"),
    "string_type": ("not text", "text"),
}
_LIBRARY: Final = frozenset({*get_args(ErrorType), *_EXPECTED})
"""Messages for Pydantic's own errors; the errors of this package carry their message."""
_BOUNDS: Final[Mapping[str, tuple[str, str, str]]] = {
    "greater_than_equal": ("too small", "ge", "{} or more"),
    "greater_than": ("too small", "gt", "more than {}"),
    "less_than_equal": ("too large", "le", "{} or less"),
    "less_than": ("too large", "lt", "less than {}"),
    "string_too_short": ("too short", "min_length", "at least {} characters"),
    "string_too_long": ("too long", "max_length", "at most {} characters"),
    "too_short": ("too few entries", "min_length", "at least {}"),
    "too_long": ("too many entries", "max_length", "at most {}"),
}


@dataclass(frozen=True, slots=True)
class Issue:
    """One error: ``field`` is a dotted path ("" for the file itself), ``line`` counts from 1."""

    field: str
    problem: str
    allowed: str = ""
    line: int | None = None

    def __str__(self) -> str:
        field = f"{self.field}: " if self.field else ""
        place = f"line {self.line}: " if self.line else ""
        return f"{place}{field}{self.problem}" + (f" (allowed: {self.allowed})" if self.allowed else "")

    def as_json(self) -> dict[str, str | int | None]:
        """Return the issue as plain JSON data."""
        return {"field": self.field, "line": self.line, "problem": self.problem, "allowed": self.allowed}


def issues_of(error: ValidationError, model: type[BaseModel], lines: Lines | None = None) -> list[Issue]:
    """Return every error that ``model`` found in a document, by line, with the allowed values.

    ``lines`` is a ``Lines`` of the document.
    """
    found = [_issue(item, model, lines) for item in error.errors(include_url=False)]
    return sorted(found, key=lambda issue: issue.line or 0)


def _issue(error: ErrorDetails, model: type[BaseModel], lines: Lines | None) -> Issue:
    path = [step for step in error["loc"] if step != "[key]"]
    problem, allowed = words_of(error, path, model)
    line = lines(path) if lines else None
    return Issue(".".join(str(step) for step in path), problem, allowed, line)


def words_of(error: ErrorDetails, path: Sequence[str | int], model: type[BaseModel]) -> tuple[str, str]:
    """Return the error and the allowed values at ``path`` of a document that ``model`` read."""
    kind, context = error["type"], error.get("ctx", {})
    if kind == "extra_forbidden":
        fields = _fields_at(path[:-1], model)
        return f"unknown field{did_you_mean(str(path[-1]), fields)}", ", ".join(fields)
    if kind == "missing":
        return "missing: it is required", ""
    if kind not in _LIBRARY:
        allowed = str(context.get("allowed", ""))
        return error["msg"] + _meant(error["input"], allowed), allowed
    if kind in {"enum", "literal_error"}:
        allowed = str(context.get("expected", "")).replace("'", "").replace(" or ", ", ")
        return f"not one of the values{_meant(error['input'], allowed)}", allowed
    if kind in _BOUNDS:
        problem, name, template = _BOUNDS[kind]
        return problem, template.format(context.get(name, ""))
    return _EXPECTED.get(kind, ("not a value of this field", ""))


def _meant(given: object, allowed: str) -> str:
    return did_you_mean(given, allowed.split(", ")) if isinstance(given, str) else ""


def _fields_at(path: Sequence[str | int], root: type[BaseModel]) -> list[str]:
    """Return the field names of the model that a path in ``root`` leads to."""
    model: Any = root
    for step in path:
        if isinstance(model, type) and issubclass(model, BaseModel) and step in model.model_fields:
            model = _model_in(model.model_fields[str(step)].annotation) or model
    return list(model.model_fields)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((model for part in get_args(annotation) if (model := _model_in(part))), None)
