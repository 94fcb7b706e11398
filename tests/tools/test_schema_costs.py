"""No schema makes a start or a call slow: recursive or exponential schemas are rejected, patterns are linear."""

import time
from typing import Any

import pytest

from evalward.errors import CodedError
from evalward.tools import Tool, read_arguments
from evalward.tools.commands import CommandValidator
from evalward.tools.manifest_file import ManifestError, parse_manifest

SOON = 5.0
"""Seconds: far more than any of these takes, far less than each took."""


def tool(schema: dict[str, Any]) -> Tool:
    entry = {"name": "t", "operation_type": "command", "input_schema": schema}
    return parse_manifest({"api_version": "evalward/v1", "tools": [entry]}, source="the test").tools[0]


def doubling(keyword: str, levels: int) -> dict[str, Any]:
    """Return a schema in which each level applies the next one twice to the same value."""
    levels_below = {
        f"l{n}": {keyword: [{"$ref": f"#/$defs/l{n + 1}"}, {"$ref": f"#/$defs/l{n + 1}"}]}
        for n in range(levels)
    }
    return {"$ref": "#/$defs/l0", "$defs": {**levels_below, f"l{levels}": {"required": ["a"]}}}


def subsets(count: int) -> dict[str, Any]:
    """Return a schema whose places are the subsets of ``count`` parts, like a determinised automaton."""
    parts: dict[str, Any] = {
        f"s{n}": {"properties": {name: {"$ref": f"#/$defs/s{n + 1}"} for name in "ab"}}
        for n in range(1, count)
    }
    start = {"$ref": "#/$defs/s0"}
    parts["s0"] = {"properties": {"a": {"allOf": [start, {"$ref": "#/$defs/s1"}]}, "b": start}}
    return {**start, "$defs": {**parts, f"s{count}": {}}}


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "schema",
    [*(doubling(keyword, 40) for keyword in ("allOf", "anyOf", "oneOf")), subsets(24)],
    ids=["allOf", "anyOf", "oneOf", "subsets"],
)
def test_a_schema_that_doubles_is_refused_at_once(schema: dict[str, Any]) -> None:
    began = time.monotonic()

    with pytest.raises(ManifestError, match=r"tool t: input_schema: .*(applies too many|in too many ways)"):
        tool(schema)

    assert time.monotonic() - began < SOON


def test_a_schema_may_describe_a_tree() -> None:
    node = {"type": "object", "properties": {"value": {"type": "string"}, "next": {"$ref": "#/$defs/node"}}}
    validator = CommandValidator(tool({"$ref": "#/$defs/node", "$defs": {"node": node}}))

    validator.check({"value": "a", "next": {"next": {"value": "b"}}})
    with pytest.raises(CodedError) as refused:
        validator.check({"next": {"next": {"value": 1}}})

    assert refused.value.repair is not None
    assert refused.value.repair.field == "/next/next/value"


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        # Each level of the arguments is checked twice as often as the one above it.
        (
            {
                "$ref": "#/$defs/n",
                "$defs": {"n": {"allOf": [{"additionalProperties": {"$ref": "#/$defs/n"}}] * 2}},
            },
            b'{"a":' * 29 + b"{}" + b"}" * 29,
        ),
        (
            {"patternProperties": {f"{n}x": {} for n in range(500)}},
            b'{"a":[],' + b",".join(b'"k%d":1' % n for n in range(15_000)) + b"}",
        ),
        (
            {"properties": {"a": {"items": {"enum": [str(n) for n in range(1_000)]}}}},
            b'{"a":[' + b",".join([b'"999"'] * 15_000) + b"]}",
        ),
    ],
    ids=["levels", "patterns", "enum"],
)
def test_a_call_that_costs_too_much_is_refused(schema: dict[str, Any], arguments: bytes) -> None:
    validator = CommandValidator(tool(schema))
    began = time.monotonic()

    with pytest.raises(CodedError) as refused:
        validator.check(read_arguments(arguments))

    assert time.monotonic() - began < SOON
    assert (refused.value.code, refused.value.repair and refused.value.repair.limit) == (
        "INVALID_INPUT",
        "schema_steps",
    )


@pytest.mark.parametrize("pattern", [r"\s+$", r"(x+x+)+y", r"^(\s|\s\s)*$", r"[ab]*a[ab]{200}$"])
def test_a_pattern_takes_linear_time(pattern: str) -> None:
    validator = CommandValidator(tool({"properties": {"a": {"pattern": pattern}}}))
    began = time.monotonic()

    for text in (" " * 400_000 + "x", "x" * 400_000, "ab" * 200_000 + "c"):
        with pytest.raises(CodedError, match="does not satisfy pattern"):
            validator.check({"a": text})

    assert time.monotonic() - began < SOON


def test_patterns_still_hold_where_they_did() -> None:
    schema = {
        "patternProperties": {"^x-": {"type": "string"}},
        "properties": {"a": {"pattern": "^[a-z]+$"}},
        "additionalProperties": False,
    }
    validator = CommandValidator(tool(schema))

    validator.check({"a": "abc", "x-b": "1"})
    for arguments in ({"a": "abc\n"}, {"x-b": 1}, {"b": 1}):
        with pytest.raises(CodedError):
            validator.check(arguments)


def test_a_field_with_a_default_is_not_required() -> None:
    schema = {
        "properties": {"type": {"default": "png"}, "name": {}},
        "required": ["type", "name"],
    }
    validator = CommandValidator(tool(schema))

    validator.check({"name": "a"})
    with pytest.raises(CodedError) as refused:
        validator.check({})

    assert refused.value.repair is not None
    assert refused.value.repair.required == ("/name",)
