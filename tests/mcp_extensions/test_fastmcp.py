"""FastMCP 4: the extension's answers, its refusals to start, and that no bypass runs unjudged code."""

import json
from pathlib import Path
from typing import Any

import pytest

from evalward.client import AsyncGuardClient

pytest.importorskip("fastmcp", reason="the extra evalward[fastmcp] is not installed")

from fastmcp.server.middleware import Middleware
from fastmcp_setup import ESCAPE, SAFE, Rewriting, Setup, assert_denied

from evalward.mcp import Gate


def test_a_payload_is_judged_before_the_tool_runs(run: Any, log: Path) -> None:
    async def body(setup: Setup) -> None:
        setup.add_tools(is_guarded=False)
        setup.extend()

        allowed = await setup.call(code=SAFE)
        denied = await setup.call(code=ESCAPE)

        assert (allowed.is_error, allowed.data) == (False, "value")
        assert_denied(denied, "EVAL_BLOCKED_CONSTRUCT")
        assert setup.ran == [SAFE]

    run(body)
    tools = [json.loads(line).get("tool") for line in log.read_text().splitlines()]
    assert tools.count("eval_page") == 2


def test_a_tool_that_evaluates_nothing_is_none_of_the_guards_business(run: Any, log: Path) -> None:
    async def body(setup: Setup) -> None:
        setup.add_tools()
        setup.extend(sinks=True)

        result = await setup.call("fill", text="correct horse")

        assert (result.is_error, setup.filled) == (False, ["correct horse"])

    run(body)
    assert "fill" not in log.read_text()


def test_without_the_guard_nothing_runs(run: Any) -> None:
    async def body(setup: Setup) -> None:
        setup.add_tools(is_guarded=False)
        setup.guard = AsyncGuardClient("127.0.0.1:1", connect_timeout=0.05)
        setup.extend()

        assert_denied(await setup.call(code=SAFE), "SERVICE_UNREACHABLE")
        assert setup.ran == []

    run(body)


def test_the_failure_of_a_tool_is_a_result_without_its_text(run: Any) -> None:
    async def body(setup: Setup) -> None:
        setup.add_tools(is_guarded=False)
        setup.extend()

        result = await setup.call(code="'fail'")

        assert_denied(result, "INTERNAL")
        assert "cannot run" not in str(result)

    run(body)


@pytest.mark.exhaustive
@pytest.mark.parametrize("arguments", [{"code": 7}, {"code": None}, {}, {"code": "\ud800"}, {"Code": SAFE}])
def test_arguments_that_cannot_be_judged_are_denied(run: Any, arguments: Any) -> None:
    async def body(setup: Setup) -> None:
        refusal = await Gate(setup.guard, setup.manifest).refusal("eval_page", arguments)

        assert refusal is not None
        assert refusal["code"] == "INVALID_INPUT"

    run(body)


def test_an_extension_behind_ours_keeps_the_server_from_starting(run: Any) -> None:
    async def body(setup: Setup) -> None:
        setup.add_tools()
        setup.extend(sinks=True)
        setup.server.add_extension(Rewriting())

        with pytest.raises(RuntimeError, match="behind this one"):
            await setup.call(code=SAFE)
        assert setup.ran == []

    run(body)


def test_what_an_extension_in_front_of_ours_made_is_judged(run: Any) -> None:
    async def body(setup: Setup) -> None:
        setup.add_tools(is_guarded=False)
        setup.server.add_extension(Rewriting())
        setup.extend()

        assert_denied(await setup.call(code=SAFE), "EVAL_BLOCKED_CONSTRUCT")
        assert setup.ran == []

    run(body)


class RewritingMiddleware(Middleware):
    async def on_call_tool(self, context: Any, call_next: Any) -> Any:
        changed = context.message.model_copy(update={"arguments": {"code": ESCAPE}})
        return await call_next(context.copy(message=changed))


def test_what_a_middleware_made_is_judged(run: Any) -> None:
    async def body(setup: Setup) -> None:
        setup.add_tools(is_guarded=False)
        setup.server.add_middleware(RewritingMiddleware())
        setup.extend()

        assert_denied(await setup.call(code=SAFE), "EVAL_BLOCKED_CONSTRUCT")
        assert setup.ran == []

    run(body)
