"""``hardening`` in a manifest: for code alone, only to tighten, and without a new digest where it is not used."""

from typing import Any

import pytest

from evalward.errors import CodedError
from evalward.tools import Manifest, parse_manifest

SCHEMA = {"type": "object", "properties": {"code": {"type": "string"}, "url": {"type": "string"}}}
EVAL = {"name": "run", "operation_type": "eval", "sink": "playwright.evaluate", "input_schema": SCHEMA}
COMMAND = {"name": "run", "operation_type": "command", "input_schema": SCHEMA}


def manifest(tool: dict[str, Any]) -> Manifest:
    return parse_manifest({"api_version": "evalward/v1", "tools": [tool]}, source="tools.yaml")


@pytest.mark.parametrize("setting", ["offered", "required"])
def test_a_tool_or_a_source_field_can_ask_for_more(setting: str) -> None:
    field = {"kind": "source", "target": "renderer", "shape": "script", "hardening": setting}

    assert manifest({**EVAL, "hardening": setting}).tools[0].hardening == setting
    assert manifest({**COMMAND, "fields": {"code": field}}).tools[0].fields["code"].hardening == setting


@pytest.mark.parametrize(
    ("tool", "place"),
    [
        ({**EVAL, "hardening": "off"}, "hardening"),
        ({**EVAL, "hardening": "always"}, "hardening"),
        ({**COMMAND, "hardening": "required"}, "hardening"),
        ({**COMMAND, "fields": {"url": {"kind": "url", "hardening": "required"}}}, "hardening"),
        (
            {**COMMAND, "fields": {"code": {"kind": "source", "target": "renderer", "hardening": "off"}}},
            "hardening",
        ),
    ],
)
def test_nothing_else_has_it_and_nothing_loosens(tool: dict[str, Any], place: str) -> None:
    with pytest.raises(CodedError) as caught:
        manifest(tool)

    assert place in caught.value.message


@pytest.mark.parametrize(
    ("tool", "digest"),
    [
        (EVAL, "1d75c5e15ee03d50541db79ea76f440c7ac22758ac8edead0eca2736ad831b77"),
        (
            {**EVAL, "fields": {"url": "url"}},
            "e07b0b470a45a9bf4bb27967e4cd4e98ef843459cea0c2e349f4fc9569f6d0cf",
        ),
    ],
)
def test_a_manifest_without_it_keeps_its_digest(tool: dict[str, Any], digest: str) -> None:
    assert manifest(tool).digest == digest
    assert manifest({**tool, "hardening": "required"}).digest != digest
