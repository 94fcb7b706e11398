"""The input schema of a tool for agents: without the fields that are always rejected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalward.field_names import folded
from evalward.tools.kinds import FieldKind
from evalward.tools.pointer import ANY, fits, steps_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from evalward.guard.target import Target
    from evalward.policy.field_values import FieldsPolicy
    from evalward.tools.kinds import FieldRule
    from evalward.tools.tool import Tool

_ELEMENTS = ("items", "additionalProperties")
_BELOW = ("allOf", "anyOf", "oneOf", "prefixItems")
_NAMED = ("$defs", "definitions", "dependentSchemas")
_ONE = ("not", "if", "then", "else")


def shown_schema(
    tool: Tool, allowed: Collection[Target], fields: FieldsPolicy | None = None
) -> dict[str, Any]:
    """Return the input schema of ``tool`` without its forbidden fields.

    Under the policy's ``fields``, launch values and paths of which it lists none are left out too, and code for a
    target that is not ``allowed``; a field with a default stays, since its default is permitted.
    """
    schema = dict(tool.input_schema or {"type": "object"})
    refused = [*tool.forbidden]
    if fields is not None:
        refused += [name for name, rule in tool.fields.items() if _is_refused(rule, allowed, fields)]
    always = _Refused([*tool.forbidden])
    whole: dict[str, Any] = _without(schema, (), always, _Refused(refused))
    return whole


class _Refused:
    """Rejected fields: names, which apply everywhere and in every spelling, and pointers to one place."""

    def __init__(self, texts: Collection[str]) -> None:
        self._names = {folded(text) for text in texts if not text.startswith("/")}
        self._places = [steps_of(text) for text in texts if text.startswith("/")]

    def holds(self, name: str, steps: tuple[str, ...]) -> bool:
        """Return whether the field called ``name`` at ``steps`` is refused."""
        return folded(name) in self._names or any(fits(pattern, steps) for pattern in self._places)


def _is_refused(rule: FieldRule, allowed: Collection[Target], fields: FieldsPolicy) -> bool:
    match rule.kind:
        case FieldKind.LAUNCH:
            return not fields.launch
        case FieldKind.PATH:
            return not fields.paths
        case FieldKind.URL:
            return not fields.url_schemes
        case FieldKind.SOURCE:
            return rule.realm is not None and rule.realm not in allowed
        case _:
            return False


def _without(schema: Any, steps: tuple[str, ...], always: _Refused, perhaps: _Refused) -> Any:
    if not isinstance(schema, dict):
        return schema
    found = dict(schema)
    properties = schema.get("properties")
    if isinstance(properties, dict):
        required = schema.get("required") or ()
        kept = {
            name: _without(each, (*steps, name), always, perhaps)
            for name, each in properties.items()
            if not _is_left_out(name, each, (*steps, name), always, perhaps, name in required)
        }
        found["properties"] = kept
        if "required" in schema:
            found["required"] = [name for name in required if name in kept or name not in properties]
    for keyword, value in found.items():
        if keyword in _ELEMENTS:
            found[keyword] = _without(value, (*steps, ANY), always, perhaps)
        elif keyword in _ONE:
            found[keyword] = _without(value, steps, always, perhaps)
        elif keyword in _BELOW and isinstance(value, list):
            found[keyword] = [_without(each, steps, always, perhaps) for each in value]
        elif keyword in _NAMED and isinstance(value, dict):
            found[keyword] = {name: _without(each, steps, always, perhaps) for name, each in value.items()}
    return found


def _is_left_out(  # noqa: PLR0913, PLR0917 - a field, and what is refused
    name: str,
    schema: Mapping[str, Any],
    steps: tuple[str, ...],
    always: _Refused,
    perhaps: _Refused,
    required: bool,  # noqa: FBT001
) -> bool:
    if always.holds(name, steps):
        return True
    has_default = isinstance(schema, dict) and "default" in schema
    # Without a field that the server requires, every call of an agent would fail with a less helpful error.
    return perhaps.holds(name, steps) and not has_default and not required
