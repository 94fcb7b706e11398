"""FastMCP 4: guarded sinks, mounted, transformed and later tools, and tasks run only what was judged."""

from typing import Any

import pytest
import yaml

from evalward.tools import parse_manifest

pytest.importorskip("fastmcp", reason="the extra evalward[fastmcp] is not installed")

from fastmcp import Client, FastMCP
from fastmcp.tools import Tool
from fastmcp.tools.tool_transform import ArgTransform
from fastmcp_setup import ESCAPE, SAFE, Rewriting, Setup, assert_denied

from evalward.mcp import GuardSetupError
from evalward.mcp.fastmcp import EvalwardExtension


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
