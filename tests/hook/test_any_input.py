"""Any bytes are a call or a refusal with a code, for each product; a reading has a tool's name."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalward.errors import CodedError
from evalward.hook.products import PRODUCTS

KEYS = st.sampled_from(
    [
        *(
            "hook_event_name",
            "hookEventName",
            "tool_name",
            "tool_input",
            "session_id",
            "sessionId",
            "tool_use_id",
        ),
        *("Params", "params", "name", "Name", "arguments", "Session", "Extra", "x"),
    ]
)
TEXTS = st.sampled_from(
    [
        "PreToolUse",
        "beforeMCPExecution",
        "mcp__a__b",
        "mcp__",
        "mcp_",
        "mcp_a_b",
        "MCP:",
        "MCP:a:b",
        ":",
        "__",
        "",
        "Bash",
    ]
) | st.text(max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=12,
)


def check(product: str, text: bytes) -> None:
    try:
        call = PRODUCTS[product].read(text)
    except CodedError:
        return
    assert isinstance(json.loads(call.arguments_json), dict)
    assert all(each.tool and each.server != "" for each in call.readings)


@pytest.mark.parametrize("product", PRODUCTS)
@given(text=st.binary(max_size=64))
def test_any_bytes(product: str, text: bytes) -> None:
    check(product, text)


@pytest.mark.parametrize("product", PRODUCTS)
@given(body=st.dictionaries(KEYS, VALUES, max_size=8))
def test_any_object(product: str, body: dict[str, object]) -> None:
    check(product, json.dumps(body).encode())


@pytest.mark.parametrize("product", PRODUCTS)
@given(tool=TEXTS, arguments=VALUES, params=VALUES)
def test_any_call(product: str, tool: str, arguments: object, params: object) -> None:
    event = "beforeMCPExecution" if product == "cursor" else "PreToolUse"
    body = {"hook_event_name": event, "tool_name": tool, "tool_input": arguments}
    check(product, json.dumps(body | {"Params": params}).encode())
