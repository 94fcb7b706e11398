"""``language`` in a manifest: for code alone, and without a new digest where it is not used."""

from typing import Any

import pytest

from evalward.errors import CodedError
from evalward.tools import Manifest, parse_manifest

SCHEMA = {"type": "object", "properties": {"code": {"type": "string"}, "url": {"type": "string"}}}
EVAL = {"name": "run", "operation_type": "eval", "sink": "playwright.evaluate", "input_schema": SCHEMA}
COMMAND = {"name": "run", "operation_type": "command", "input_schema": SCHEMA}


def manifest(tool: dict[str, Any]) -> Manifest:
    return parse_manifest({"api_version": "evalward/v1", "tools": [tool]}, source="tools.yaml")


def test_a_tool_or_a_source_field_declares_it() -> None:
    field = {"kind": "source", "target": "renderer", "shape": "script", "language": "typescript"}

    assert manifest({**EVAL, "language": "typescript"}).tools[0].language == "typescript"
    assert manifest({**COMMAND, "fields": {"code": field}}).tools[0].fields["code"].language == "typescript"


@pytest.mark.parametrize(
    "tool",
    [
        {**EVAL, "language": "tsx"},
        {**COMMAND, "language": "typescript"},
        {**COMMAND, "fields": {"url": {"kind": "url", "language": "typescript"}}},
    ],
)
def test_nothing_else_has_it(tool: dict[str, Any]) -> None:
    with pytest.raises(CodedError) as caught:
        manifest(tool)

    assert "language" in caught.value.message


def test_a_manifest_without_it_keeps_its_digest() -> None:
    assert manifest({**EVAL, "language": "typescript"}).digest != manifest(EVAL).digest
