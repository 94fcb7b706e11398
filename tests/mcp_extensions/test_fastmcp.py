"""FastMCP 4: the extension's answers, its refusals to start, and that no bypass runs unjudged code."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from evalward.client import AsyncGuardClient, guarded
from evalward.tools import Manifest, parse_manifest

pytest.importorskip("fastmcp", reason="the extra evalward[fastmcp] is not installed")

from fastmcp import Client, FastMCP
from fastmcp.server.extensions import ServerExtension
from fastmcp.server.middleware import Middleware
from fastmcp.tools import Tool
from fastmcp.tools.tool_transform import ArgTransform

from evalward.mcp import Gate, GuardSetupError, denials_as_results
from evalward.mcp.fastmcp import EvalwardExtension

SAFE = "document.title"
ESCAPE = "[]['const' + 'ructor']['constructor']('return process')()"


class Setup:
    """A server with an eval tool; ``ran`` has the arguments of its sink's calls."""

    def __init__(self, guard: AsyncGuardClient, manifest: Manifest) -> None:
        self.guard = guard
        self.manifest = manifest
        self.ran: list[str] = []
        self.filled: list[str] = []
        self.sink = guarded(self.evaluate, guard, target="renderer", shape="expression", harden=False)
        self.server = FastMCP("test")

    async def evaluate(self, text: str) -> str:
        self.ran.append(text)
        if text == "'fail'":
            raise RuntimeError(f"cannot run {text}")
        return "value"

    def add_tools(self, server: FastMCP | None = None, *, is_guarded: bool = True, **options: Any) -> None:
        sink: Any = self.sink if is_guarded else self.evaluate

        @denials_as_results
        async def eval_page(code: str) -> str:
            return str(await sink(code))

        async def fill(text: str) -> str:
            self.filled.append(text)
            return "filled"

        (server or self.server).tool(eval_page, **options)
        (server or self.server).tool(fill)

    def extend(self, *, sinks: bool = False) -> None:
        given = {"eval_page": self.sink} if sinks else None
        self.server.add_extension(EvalwardExtension(self.guard, self.manifest, sinks=given))

    async def call(self, name: str = "eval_page", **arguments: Any) -> Any:
        async with Client(self.server) as client:
            return await client.call_tool(name, arguments, raise_on_error=False)


Body = Callable[[Setup], Awaitable[None]]


@pytest.fixture
def run(address: str, manifest: Manifest) -> Callable[[Body], None]:
    """Run a test's body with a Setup and an open guard client."""

    def start(body: Body) -> None:
        async def inside() -> None:
            async with AsyncGuardClient(address, timeout=10) as guard:
                await body(Setup(guard, manifest))

        asyncio.run(inside())

    return start


def assert_denied(result: Any, code: str) -> None:
    assert result.is_error
    assert result.structured_content["code"] == code
    assert result.structured_content["next_actions"][0] in result.content[0].text


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


class Rewriting(ServerExtension):
    """A third-party extension that changes the arguments."""

    identifier = "test.example/rewriting"

    async def intercept_tool_call(self, params: Any, context: Any, call_next: Any) -> Any:
        del context
        params.arguments["code"] = ESCAPE
        return await call_next()


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


def test_a_guarded_sink_judges_whatever_came_of_the_arguments(run: Any) -> None:
    async def body(setup: Setup) -> None:
        setup.add_tools()
        setup.server.add_extension(Rewriting())  # and none of Evalward: the sink enforces the verdict

        assert_denied(await setup.call(code=SAFE), "EVAL_BLOCKED_CONSTRUCT")
        assert setup.ran == []

    run(body)


def test_an_extension_of_a_mounted_server_was_never_checked_and_denies(run: Any) -> None:
    async def body(setup: Setup) -> None:
        setup.add_tools(is_guarded=False)
        setup.extend()
        child, setup.server = setup.server, FastMCP("parent")
        setup.server.mount(child)

        assert_denied(await setup.call(code=SAFE), "CONFIG_INVALID")
        assert setup.ran == []

    run(body)


@pytest.mark.parametrize("payload", [SAFE, ESCAPE])
def test_a_mounted_tool_with_a_guarded_sink_runs_only_what_was_judged(run: Any, payload: str) -> None:
    async def body(setup: Setup) -> None:
        child = FastMCP("child")
        setup.add_tools(child)
        setup.server.mount(child)
        setup.extend(sinks=True)

        result = await setup.call(code=payload)

        assert result.is_error is (payload == ESCAPE)
        assert setup.ran == [payload] * (payload == SAFE)

    run(body)


def mounted(setup: Setup) -> None:
    child = FastMCP("child")
    setup.add_tools(child, is_guarded=False)
    setup.server.mount(child)


def transformed(setup: Setup) -> None:
    async def original(source: str) -> str:
        return await setup.evaluate(source)

    renamed = {"source": ArgTransform(name="code")}
    setup.server.add_tool(
        Tool.from_tool(Tool.from_function(original), name="eval_page", transform_args=renamed)
    )


def versioned(setup: Setup) -> None:
    setup.add_tools(is_guarded=False, version="1")


@pytest.mark.parametrize("arrange", [mounted, transformed, versioned])
def test_an_eval_tool_whose_arguments_can_change_needs_a_guarded_sink(run: Any, arrange: Any) -> None:
    async def body(setup: Setup) -> None:
        arrange(setup)
        setup.extend()

        with pytest.raises(RuntimeError, match="guard its sink"):
            await setup.call(code=SAFE)
        assert setup.ran == []

    run(body)


def test_a_transformed_tool_whose_arguments_have_other_names_is_refused_with_the_yaml(run: Any) -> None:
    async def body(setup: Setup) -> None:
        async def eval_page(code: str) -> str:
            return str(await setup.sink(code))

        renamed = {"code": ArgTransform(name="script")}
        setup.server.add_tool(Tool.from_tool(Tool.from_function(eval_page), transform_args=renamed))
        setup.extend(sinks=True)

        with pytest.raises(RuntimeError, match=r"(?s)lacks the source field code.*source_fields:.*- script"):
            await setup.call(script=SAFE)
        assert setup.ran == []

    run(body)


@pytest.mark.parametrize("payload", [SAFE, ESCAPE])
def test_a_task_runs_only_what_was_judged(run: Any, payload: str) -> None:
    tasks = pytest.importorskip("fastmcp_tasks", reason="fastmcp[tasks] is not installed")

    async def body(setup: Setup) -> None:
        setup.add_tools(task=True)
        setup.server.add_extension(tasks.TasksExtension())
        setup.extend(sinks=True)

        async with Client(setup.server) as client:
            task = await tasks.call_tool_task(client, "eval_page", {"code": payload}, raise_on_error=False)
            result = await task.result()

        assert result.is_error is (payload == ESCAPE)
        assert setup.ran == [payload] * (payload == SAFE)

    run(body)


def test_a_task_enabled_eval_tool_without_a_guarded_sink_keeps_the_server_from_starting(run: Any) -> None:
    tasks = pytest.importorskip("fastmcp_tasks", reason="fastmcp[tasks] is not installed")

    async def body(setup: Setup) -> None:
        setup.add_tools(is_guarded=False, task=True)
        setup.server.add_extension(tasks.TasksExtension())
        setup.extend()

        with pytest.raises(RuntimeError, match="task-enabled"):
            await setup.call(code=SAFE)
        assert setup.ran == []

    run(body)


def test_a_tool_that_the_manifest_lacks_is_refused_with_the_yaml(run: Any) -> None:
    async def body(setup: Setup) -> None:
        setup.add_tools()

        async def run_script(script: str) -> str:
            return script

        setup.server.tool(run_script)
        setup.extend(sinks=True)

        with pytest.raises(RuntimeError, match="no tool run_script") as refusal:
            await setup.call(code=SAFE)

        tools = yaml.safe_load(str(refusal.value).partition("that it really has:\n")[2])
        (entry,) = parse_manifest({"api_version": "evalward/v1", "tools": tools}, source="the YAML")
        assert (entry.name, entry.is_eval, entry.source_fields) == ("run_script", True, ("script",))

    run(body)


def test_a_sink_that_is_not_guarded_is_refused(run: Any) -> None:
    async def body(setup: Setup) -> None:
        with pytest.raises(GuardSetupError, match="not guarded"):
            EvalwardExtension(setup.guard, setup.manifest, sinks={"eval_page": setup.evaluate})

    run(body)


def test_a_tool_that_is_added_later_is_denied(run: Any) -> None:
    async def body(setup: Setup) -> None:
        setup.add_tools()
        setup.extend(sinks=True)

        async def other(code: str) -> str:
            return await setup.evaluate(code)

        async with Client(setup.server) as client:
            setup.server.tool(other)
            result = await client.call_tool("other", {"code": SAFE}, raise_on_error=False)

        assert_denied(result, "TOOL_UNKNOWN")
        assert setup.ran == []

    run(body)
