"""Calls of servers that no manifest knows: what looks like code is denied, the rest passes."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from evalward.errors import Code, CodedError
from evalward.policy import Policy
from evalward.tools.permitted import check_permitted
from evalward.tools.route import route
from evalward.tools.unknown_call import unknown_tool

CASES = yaml.safe_load(Path(__file__).with_name("unknown_calls.yaml").read_text("utf-8"))


def denied(tool_name: str, arguments: dict[str, Any]) -> str | None:
    """Return the field for which a call is denied, ``tool`` for its name, None for one that passes."""
    try:
        tool = unknown_tool(tool_name, arguments)
        way = route(tool, arguments)
        for each in way.fields:
            check_permitted(tool, each, Policy.default().fields)
    except CodedError as refusal:
        if refusal.code == Code.TOOL_UNKNOWN:
            return "tool"
        if refusal.code not in {Code.TOOL_FIELD_FORBIDDEN, Code.TOOL_VALUE_DENIED}:
            raise
        field = (refusal.repair.field if refusal.repair else None) or ""
        return [step for step in field.split("/") if not step.isdigit()][-1]
    assert not way.is_eval
    return None


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['tool']} {case['arguments']}")
def test_a_call_of_an_unknown_server(case: dict[str, Any]) -> None:
    assert denied(case["tool"], case["arguments"]) == case.get("denied")


@pytest.mark.parametrize("name", ["co~de/script", "script\n", f"script{'x' * 200}", "*script"])
def test_a_name_that_no_manifest_can_have_is_denied(name: str) -> None:
    with pytest.raises(CodedError):
        route(unknown_tool("run", {name: "1", "script": "1"}), {name: "1", "script": "1"})


def test_too_many_suspicious_fields_are_denied() -> None:
    arguments = {f"script{index}x script": "1" for index in range(100)}

    with pytest.raises(CodedError, match="too many"):
        unknown_tool("run", arguments)
