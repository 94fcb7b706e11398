"""The command validator: calls that evaluate nothing are checked against their tool's ``input_schema``.

What it says of a call names fields and what they may be, never their values: a command may carry a password.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from jsonschema import ValidationError
from jsonschema.validators import extend, validator_for
from referencing import Registry

from evalward.errors import Code, CodedError, Repair, canonical_json
from evalward.tools.pointer import pointer_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from evalward.tools.manifest import Tool

_LOWER = {"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"}
_UPPER = {"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"}


class CommandValidator:
    """Checks the arguments of one tool; made once, when the manifest is loaded."""

    def __init__(self, tool: Tool) -> None:
        self._tool = tool
        schema = dict(tool.input_schema or {"type": "object"})
        kind = validator_for(schema)
        # The library's own check compares every element with every other.
        linear = extend(kind, {"uniqueItems": _unique_items})  # type: ignore[no-untyped-call]  # in its stubs
        self._validator = linear(schema, registry=Registry())

    def check(self, arguments: Mapping[str, Any]) -> None:
        """Raise CodedError for the first thing that is wrong: MISSING_FIELD, or INVALID_INPUT."""
        error = next(iter(self._validator.iter_errors(arguments)), None)
        if error is not None:
            raise self._refusal(error)

    def _refusal(self, error: ValidationError) -> CodedError:
        path = pointer_of(error.absolute_path)
        keyword, wanted = str(error.validator), cast("Any", error.validator_value)
        if keyword == "required" and isinstance(error.instance, dict):
            lacking = [name for name in wanted if name not in error.instance]
            return CodedError(
                Code.MISSING_FIELD,
                f"The call of {self._tool.name} lacks {', '.join(lacking)}.",
                repair=Repair(field=pointer_of([*error.absolute_path, lacking[0]]), required=lacking),
            )
        bounds = _range(keyword, wanted)
        return CodedError(
            Code.INVALID_INPUT,
            f"The field {path or '/'} of {self._tool.name} does not satisfy {keyword} of its input schema.",
            repair=Repair(
                field=path or "/", allowed=None if bounds else _allowed(keyword, error), range=bounds
            ),
        )


def _allowed(keyword: str, error: ValidationError) -> list[str] | None:
    wanted: Any = error.validator_value
    if keyword == "enum":
        return [_shown(value) for value in wanted]
    if keyword == "const":
        return [_shown(wanted)]
    if keyword == "type":
        return [wanted] if isinstance(wanted, str) else [*wanted]
    if keyword == "additionalProperties" and isinstance(error.schema, dict):
        return [*error.schema.get("properties", {})]
    if keyword in _LOWER | _UPPER:
        return [f"{'at least' if keyword in _LOWER else 'at most'} {wanted} ({keyword})"]
    return [str(wanted)] if keyword in {"pattern", "multipleOf", "format"} else None


def _range(keyword: str, wanted: object) -> tuple[int, int] | None:
    """Return an inclusive range where both of its ends are known."""
    if keyword in _UPPER and keyword.startswith("max") and keyword != "maximum" and isinstance(wanted, int):
        return 0, wanted
    return None


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _unique_items(_: object, wanted: object, instance: object, __: object) -> Iterator[ValidationError]:
    if not wanted or not isinstance(instance, list):
        return
    if len({canonical_json(item) for item in instance}) < len(instance):
        yield ValidationError("has non-unique elements")
