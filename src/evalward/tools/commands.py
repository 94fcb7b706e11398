"""The command validator: checks calls that evaluate nothing against their tool's ``input_schema``.

Messages name fields and their constraints, never values: a command may contain a password.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from referencing import Registry

from evalward.errors import Code, CodedError, Range, Repair
from evalward.tools.keywords import MAX_STEPS, TooManyStepsError, counted_validator, first_error, lacking
from evalward.tools.pointer import pointer_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jsonschema import ValidationError

    from evalward.tools.tool import Tool


class CommandValidator:
    """Checks the arguments of one tool; created once, when the manifest is loaded."""

    def __init__(self, tool: Tool) -> None:
        self._tool = tool
        schema = dict(tool.input_schema or {"type": "object"})
        self._validator = counted_validator(schema)(schema, registry=Registry())

    def check(self, arguments: Mapping[str, Any]) -> None:
        """Raise CodedError for the first error: MISSING_FIELD, or INVALID_INPUT."""
        try:
            error = first_error(self._validator, arguments)
        except TooManyStepsError:
            raise CodedError(
                Code.INVALID_INPUT,
                f"Checking the arguments of {self._tool.name} takes too many steps of its input schema.",
                repair=Repair.passed("schema_steps", MAX_STEPS, field=""),
            ) from None
        if error is not None:
            raise self._refusal(error)

    def _refusal(self, error: ValidationError) -> CodedError:
        path = pointer_of(error.absolute_path)
        keyword, wanted = str(error.validator), cast("Any", error.validator_value)
        if keyword == "required" and isinstance(error.instance, dict):
            declared = error.schema.get("properties", {}) if isinstance(error.schema, dict) else {}
            missing = lacking(wanted, error.instance, declared)
            return CodedError(
                Code.MISSING_FIELD,
                f"The call of {self._tool.name} lacks {', '.join(missing)}.",
                repair=Repair.missing(*(pointer_of([*error.absolute_path, name]) for name in missing)),
            )
        return CodedError(
            Code.INVALID_INPUT,
            f"The field {path or '/'} of {self._tool.name} does not satisfy {keyword} of its input schema.",
            details={"schema_keyword": keyword},
            repair=Repair(
                field=_unknown(keyword, error) or path,
                allowed=_allowed(keyword, error),
                range=_range(keyword, wanted),
                pattern=wanted if keyword == "pattern" else None,
                types=_types(wanted) if keyword == "type" else None,
            ),
        )


def _allowed(keyword: str, error: ValidationError) -> list[str] | None:
    wanted: Any = error.validator_value
    if keyword == "enum":
        return [_shown(value) for value in wanted]
    if keyword == "const":
        return [_shown(wanted)]
    if keyword == "additionalProperties" and isinstance(error.schema, dict):
        return [*error.schema.get("properties", {})]
    return None


def _unknown(keyword: str, error: ValidationError) -> str | None:
    """Return the place of the first member that the schema does not declare, if that is the error."""
    schema, value = error.schema, cast("Any", error.instance)
    if keyword != "additionalProperties" or not isinstance(schema, dict) or "patternProperties" in schema:
        return None
    unknown = [name for name in value if name not in schema.get("properties", {})]
    return pointer_of([*error.absolute_path, *unknown[:1]])


def _range(keyword: str, wanted: Any) -> Range | None:
    """Return the range that ``keyword`` gives a number, length or count; None for an exclusive real bound."""
    if keyword in {"minimum", "minLength", "minItems", "minProperties"}:
        return Range(minimum=wanted)
    if keyword in {"maximum", "maxLength", "maxItems", "maxProperties"}:
        return Range(maximum=wanted)
    return None


def _types(wanted: Any) -> list[str]:
    return [wanted] if isinstance(wanted, str) else [*wanted]


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
