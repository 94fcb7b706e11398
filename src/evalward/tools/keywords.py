"""JSON Schema validation with a step limit, so that no schema makes a call slow.

A schema that refers to itself is walked once for each part of the arguments that it describes, and two references in
each of ten levels are a thousand walks. So each application of a keyword counts the values that it looks at, and a
call that exceeds the limit is rejected. Patterns are matched by RE2.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from jsonschema import ValidationError
from jsonschema.validators import extend, validator_for

from evalward.errors import canonical_json
from evalward.tools.schema_patterns import is_found

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Keyword = Callable[[Any, Any, Any, Any], Iterator[ValidationError] | None]

MAX_STEPS: Final = 50_000
"""The limit of steps in one check (applications of keywords, plus the values that they look at): about 0.1 s."""
_CHARACTERS: Final = 256
"""Characters that a pattern matches per step."""
_LEFT: ContextVar[int] = ContextVar("left")


class TooManyStepsError(Exception):
    """The check of one call costs more than ``MAX_STEPS``."""


def counted_validator(schema: Mapping[str, Any]) -> Any:
    """Return the validator class of the schema's own dialect, with counted keywords."""
    kind = validator_for(schema)
    own = {**kind.VALIDATORS, **_OWN}
    return extend(kind, {name: _counted(keyword) for name, keyword in own.items()})  # type: ignore[no-untyped-call]


def first_error(validator: Any, instance: Any) -> ValidationError | None:
    """Return the first error of ``instance``; raise TooManyStepsError."""
    token = _LEFT.set(MAX_STEPS)
    try:
        found: ValidationError | None = next(iter(validator.iter_errors(instance)), None)
    except RecursionError:
        raise TooManyStepsError from None
    finally:
        _LEFT.reset(token)
    return found


def _counted(keyword: Keyword) -> Keyword:
    def applied(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        _pay(1 + (len(value) if isinstance(value, (list, dict)) else 0))
        return keyword(validator, value, instance, schema) or iter(())

    return applied


def _pay(steps: int) -> None:
    left = _LEFT.get() - steps
    if left < 0:
        raise TooManyStepsError
    _LEFT.set(left)


def _matches(pattern: str, text: str) -> bool:
    _pay(1 + len(text) // _CHARACTERS)
    return is_found(pattern, text)


def _pattern(_: Any, pattern: str, instance: Any, __: Any) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not _matches(pattern, instance):
        yield ValidationError("does not match the pattern")


def _pattern_properties(
    validator: Any, patterns: Mapping[str, Any], instance: Any, _: Any
) -> Iterator[ValidationError]:
    if isinstance(instance, dict):
        for pattern, schema in patterns.items():
            for key, value in instance.items():
                if _matches(pattern, key):
                    yield from validator.descend(value, schema, path=key, schema_path=pattern)


def _additional_properties(
    validator: Any, wanted: Any, instance: Any, schema: Mapping[str, Any]
) -> Iterator[ValidationError]:
    if not isinstance(instance, dict):
        return
    properties, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    for key, value in instance.items():
        if key in properties or any(_matches(pattern, key) for pattern in patterns):
            continue
        if isinstance(wanted, dict):
            yield from validator.descend(value, wanted, path=key)
        elif not wanted:
            yield ValidationError("has a property that is not declared")


def _unique_items(_: Any, wanted: Any, instance: Any, __: Any) -> Iterator[ValidationError]:
    # The library's own check compares every element with every other.
    if not wanted or not isinstance(instance, list):
        return
    _pay(len(instance))
    if len({canonical_json(item) for item in instance}) < len(instance):
        yield ValidationError("has non-unique elements")


def _required(_: Any, names: Any, instance: Any, schema: Mapping[str, Any]) -> Iterator[ValidationError]:
    """Do not require properties with a default: servers list some as required although they fill them in."""
    if not isinstance(instance, dict) or not isinstance(names, list):
        return
    properties = schema.get("properties", {})
    for name in lacking(names, instance, properties):
        yield ValidationError(f"{name!r} is a required property")


def lacking(names: list[str], instance: Mapping[str, Any], properties: Mapping[str, Any]) -> list[str]:
    """Return the required ``names`` that ``instance`` lacks and that have no default."""
    return [
        name
        for name in names
        if name not in instance
        and not (isinstance(properties.get(name), dict) and "default" in properties[name])
    ]


_OWN: Final[Mapping[str, Keyword]] = {
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "uniqueItems": _unique_items,
    "required": _required,
}
