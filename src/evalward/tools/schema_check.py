"""Whether an ``input_schema`` can be used at all: refused at the start, so that no call meets a broken one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from evalward.guard.backtracking import is_catastrophic
from evalward.policy.fields import problem
from evalward.tools.schema import resolve, subschemas


def check_input_schema(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return ``schema``; raise for one that is no JSON Schema of an object, or not bounded in itself.

    A reference must stay inside, since following it must not depend on a network. A pattern must be one that
    Python reads and that no text can make slow.
    """
    # Imported with the first manifest: it takes time and memory that a service without one does not spend.
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
    texts = [node.get("pattern"), *(keyed if isinstance(keyed, Mapping) else ())]
    for text in texts:
        if not isinstance(text, str):
            continue
        try:
            re.compile(text)
        except re.error:
            raise problem("schema", "a pattern that Python cannot read", "a regular expression") from None
        if is_catastrophic(text):
            raise problem(
                "schema", "a pattern that can take exponential time", "one without nested repetition"
            )
