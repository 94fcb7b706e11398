"""Whatever a hook cannot read is denied in the product's own form, with the code and the reason."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hook_service import Hooks

from evalward.guard.target import Target
from evalward.hook.products import PRODUCTS
from evalward.policy import Policy, parse_policy

HERE = Path(__file__).parent
CASES = yaml.safe_load((HERE / "failures.yaml").read_text("utf-8"))
ARGUMENTS = {"element": "Save", "target": "e3"}
EVENT: dict[str, Any] = {
    "hook_event_name": "PreToolUse",
    "tool_name": "mcp__playwright__browser_click",
    "tool_input": ARGUMENTS,
}
CALLS: dict[str, dict[str, Any]] = {
    "claude-code": EVENT,
    "vscode": EVENT,
    "cursor": {
        "hook_event_name": "beforeMCPExecution",
        "tool_name": "browser_click",
        "tool_input": ARGUMENTS,
    },
    "docker": {"Session": {}, "Params": {"name": "browser_click", "arguments": ARGUMENTS}, "Extra": None},
}


def each() -> Iterator[Any]:
    for case in CASES:
        for product in case["products"]:
            yield pytest.param(case, product, id=f"{product}: {case['name']}")


def denial(product: str, stdout: bytes) -> tuple[bool, str]:
    """Return whether an answer denies, and its text."""
    answer = json.loads(stdout)
    if product == "cursor":
        return answer["permission"] == "deny", answer["agent_message"]
    if product == "docker":
        return answer["isError"] is True, answer["content"][0]["text"]
    decided = answer["hookSpecificOutput"]
    return decided["permissionDecision"] == "deny", decided["permissionDecisionReason"]


@pytest.mark.parametrize("product", CALLS)
def test_the_call_itself_is_allowed(product: str, hooks: Hooks) -> None:
    stdout = hooks.answer(product, json.dumps(CALLS[product]).encode()).stdout

    assert stdout in {b"", b'{"permission":"allow"}\n'}


@pytest.mark.parametrize(("case", "product"), [*each()])
def test_it_is_denied(case: dict[str, Any], product: str, hooks: Hooks) -> None:
    call = json.dumps(CALLS[product])
    if "replace" in case:
        old, new = case["replace"]
        assert old in call
        call = call.replace(old, new)
    text = case["input"].replace("${CALL}", call)
    before = len(hooks.records())

    answer = hooks.answer(product, text.encode(case.get("encoding", "utf-8")))

    is_denied, reason = denial(product, answer.stdout)
    assert (is_denied, answer.exit_code) == (True, 0)
    assert case["code"] in reason
    assert case["words"] in reason
    (record,) = hooks.records()[before:]
    assert (record["outcome"], record["code"]) == ("deny", case["code"])


EVALUATE = {"function": "() => document.title"}
OF_PRODUCT = {
    "claude-code": EVENT | {"tool_name": "mcp__playwright__browser_evaluate", "tool_input": EVALUATE},
    "vscode": EVENT | {"tool_name": "mcp_playwright_browser_evaluate", "tool_input": EVALUATE},
    "cursor": CALLS["cursor"] | {"tool_name": "browser_evaluate", "tool_input": EVALUATE},
    "docker": {"Params": {"name": "browser_evaluate", "arguments": EVALUATE}},
}


@pytest.mark.parametrize("product", PRODUCTS)
def test_a_required_program_is_handed_over_or_the_call_is_denied(product: str, hooks_under: Any) -> None:
    policy = parse_policy({"api_version": "evalward/v1", "hardening": "required"}, source="test")
    hooks = hooks_under(policy.allowing([Target.RENDERER]))

    stdout = hooks.answer(product, json.dumps(OF_PRODUCT[product]).encode()).stdout

    if PRODUCTS[product].TAKES_PROGRAMS:
        given = json.loads(stdout)["hookSpecificOutput"]
        assert given["permissionDecision"] == "ask"
        assert given["updatedInput"]["function"] != EVALUATE["function"]
        assert "document" in given["updatedInput"]["function"]
    else:
        is_denied, reason = denial(product, stdout)
        assert is_denied
        assert "EVAL_NOT_HARDENABLE" in reason
        assert hooks.records()[-1]["outcome"] == "deny"


@pytest.mark.parametrize("product", PRODUCTS)
def test_without_hardening_an_allow_changes_nothing(product: str, hooks_under: Any) -> None:
    policy = parse_policy({"api_version": "evalward/v1", "hardening": "off"}, source="test")
    hooks = hooks_under(policy.allowing([Target.RENDERER]))

    stdout = hooks.answer(product, json.dumps(OF_PRODUCT[product]).encode()).stdout

    assert stdout == (b'{"permission":"allow"}\n' if product == "cursor" else b"")


def test_a_target_that_is_not_opted_in_is_denied(hooks_under: Any) -> None:
    hooks = hooks_under(Policy.default())

    stdout = hooks.answer("cursor", json.dumps(OF_PRODUCT["cursor"]).encode()).stdout

    assert "EVAL_TARGET_DENIED" in denial("cursor", stdout)[1]
