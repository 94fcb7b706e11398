"""A draft without a review denies what may be more than data, declared or not; other fields pass."""

from __future__ import annotations

from typing import Any

import pytest

from evalward.errors import CodedError
from evalward.tools import route
from evalward.tools.draft import closed_draft

OPEN: dict[str, Any] = {"type": "object"}
DECLARED: dict[str, Any] = {
    "type": "object",
    "properties": {"n": {"type": "number"}, "options": {"type": "object"}, "target_url": {"type": "string"}},
    "additionalProperties": True,
}


def routed(schema: dict[str, Any], arguments: dict[str, Any]) -> int:
    """Return how many fields are judged; raise CodedError for a denied call."""
    manifest = closed_draft([{"name": "tool", "inputSchema": schema}], server="s")
    assert manifest is not None
    tool = manifest.tool("tool")
    assert tool is not None
    return len(route(tool, arguments).fields)


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        (OPEN, {"code": "1"}),
        (OPEN, {"anything": "1"}),
        (DECLARED, {"code": "1"}),
        (DECLARED, {"Code": "1"}),
        (DECLARED, {"undeclared": "1"}),
        (DECLARED, {"target_url": "https://example.com/"}),
        (DECLARED, {"options": {"script": "1"}}),
        (DECLARED, {"options": {"deep": [{"pageFunction": "1"}]}}),
    ],
)
def test_it_is_denied(schema: dict[str, Any], arguments: dict[str, Any]) -> None:
    with pytest.raises(CodedError):
        routed(schema, arguments)


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [(OPEN, {}), (DECLARED, {"n": 1}), (DECLARED, {"n": 1, "options": {"color": "red"}})],
)
def test_it_passes(schema: dict[str, Any], arguments: dict[str, Any]) -> None:
    assert routed(schema, arguments) == 0
