"""Check an ``input_schema`` when the manifest is loaded, so that no call meets an invalid one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import ValidationInfo  # noqa: TC002 - pydantic looks the annotation up

from evalward.policy.fields import problem
from evalward.tools.schema_patterns import PatternError, compiled
from evalward.tools.schema_places import MAX_PLACES, TooManyPlacesError, resolve, root_place, subschemas, walk

MAX_APPLIED: Final = 500
"""Schemas that may apply to one value."""
_MAX_NESTING: Final = 100


PROVEN: Final = "evalward-proven-schemas"
"""The validation context of manifests whose schemas the tests have checked: those that Evalward ships."""


def check_input_schema(schema: Mapping[str, Any], info: ValidationInfo) -> Mapping[str, Any]:
    """Return ``schema``; raise for one that is not a JSON Schema of an object, or whose checks are unbounded.

    A reference must stay inside the schema, so that resolving it needs no network, and must not be circular. RE2 must
    support every pattern.
    """
    if info.context == PROVEN:
        return schema
    # Imported with the first manifest, since it takes time and memory that other services do not need.
    from jsonschema import SchemaError  # noqa: PLC0415
    from jsonschema.validators import validator_for  # noqa: PLC0415

    plain = dict(schema)
    try:
        validator_for(plain).check_schema(plain)
    except SchemaError as error:
        where = "/".join(map(str, error.absolute_path))
        raise problem(
            "schema", f"not a JSON Schema: {where or 'the schema'} is malformed", "JSON Schema"
        ) from None
    if plain.get("type", "object") != "object":
        raise problem("schema", "the arguments of a tool are an object", "type: object")
    for node in subschemas(plain):
        _check_reference(node, plain)
        _check_patterns(node)
    _check_expansion(plain)
    try:
        for _ in walk(root_place(plain)):
            pass
    except TooManyPlacesError:
        raise problem(
            "schema", "parts that refer to each other in too many ways", f"at most {MAX_PLACES} places"
        ) from None
    return schema


def _check_reference(node: Mapping[str, Any], root: Mapping[str, Any]) -> None:
    for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
        reference = node.get(keyword)
        if isinstance(reference, str) and (keyword != "$ref" or resolve(reference, root) is None):
            raise problem(
                "schema", f"{keyword} leads out of the schema", "$ref: '#/$defs/…' to something inside"
            )


def _check_patterns(node: Mapping[str, Any]) -> None:
    keyed = node.get("patternProperties")
    for text in (node.get("pattern"), *(keyed if isinstance(keyed, Mapping) else ())):
        if isinstance(text, str):
            try:
                compiled(text)
            except PatternError as error:
                raise problem("schema", str(error), "a regular expression without lookaround") from None
    if keyed is not None and "unevaluatedProperties" in node:
        raise problem(
            "schema",
            "unevaluatedProperties together with patternProperties",
            "additionalProperties with them",
        )


def _check_expansion(root: Mapping[str, Any]) -> None:
    """Reject a schema that applies too many subschemas to one value, or endlessly many."""
    sizes: dict[int, int] = {}
    for node in subschemas(root):
        if _size(node, root, sizes, ()) > MAX_APPLIED:
            raise problem(
                "schema", "a part that applies too many others to one value", f"at most {MAX_APPLIED} parts"
            )


def _size(node: Any, root: Mapping[str, Any], sizes: dict[int, int], above: tuple[int, ...]) -> int:
    """Return how many schemas apply to a value that ``node`` applies to."""
    if not isinstance(node, Mapping):
        return 0
    key = id(node)
    if key in above or len(above) > _MAX_NESTING:
        raise problem("schema", "a $ref that leads back to itself", "a $ref below properties or items")
    if key not in sizes:
        total = 1 + sum(_size(each, root, sizes, (*above, key)) for each in _applied(node, root))
        sizes[key] = min(total, MAX_APPLIED + 1)
    return sizes[key]


def _applied(node: Mapping[str, Any], root: Mapping[str, Any]) -> Iterator[Any]:
    for keyword in ("allOf", "anyOf", "oneOf"):
        branches = node.get(keyword)
        yield from branches if isinstance(branches, list) else ()
    yield from (node[keyword] for keyword in ("not", "if", "then", "else") if keyword in node)
    for keyword in ("dependentSchemas", "dependencies"):
        branches = node.get(keyword)
        yield from branches.values() if isinstance(branches, Mapping) else ()
    if "$ref" in node:
        yield resolve(node["$ref"], root)
