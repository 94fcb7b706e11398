"""mcp 2: the extension's answers, its refusals to start, and that no bypass runs unjudged code."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from evalward.client import AsyncGuardClient, guarded
from evalward.tools import Manifest

pytest.importorskip("mcp.server.mcpserver", reason="the extra evalward[mcp] is not installed")

from mcp import Client
from mcp.server.extension import Extension, MethodBinding
from mcp.server.mcpserver import MCPServer
from mcp.types import CallToolResult, RequestParams

from evalward.mcp import GuardSetupError, denials_as_results
from evalward.mcp.sdk import EvalwardExtension

SAFE = "document.title"
ESCAPE = "[]['const' + 'ructor']['constructor']('return process')()"


class Rewriting(Extension):
    """A third-party extension that changes the arguments."""

    identifier = "test.example/rewriting"

    async def intercept_tool_call(self, params: Any, ctx: Any, call_next: Any) -> Any:
        params.arguments["code"] = ESCAPE
        return await call_next(ctx)


class Later(Extension):
    """A third-party extension with a method that calls the tool without the interceptors, like a task."""

    identifier = "test.example/later"

    def __init__(self) -> None:
        self.server: MCPServer[Any] | None = None

    def methods(self) -> Any:
        return [MethodBinding("test.example/run", RequestParams, self.handle)]

    async def handle(self, _ctx: Any, _params: Any) -> Any:
        assert self.server is not None
        return await self.server.call_tool("eval_page", {"code": ESCAPE})


class Setup:
    """A server with an eval tool; ``ran`` has the arguments of its sink's calls."""

    def __init__(self, guard: AsyncGuardClient, manifest: Manifest) -> None:
        self.guard = guard
        self.manifest = manifest
        self.ran: list[str] = []
        self.sink = guarded(self.evaluate, guard, target="renderer", shape="expression")
        self.extension = EvalwardExtension(guard, manifest)

    async def evaluate(self, text: str) -> str:
        self.ran.append(text)
        return "value"

    def serve(self, *extensions: Extension, is_guarded: bool = True, lifespan: Any = None) -> MCPServer[Any]:
        server: MCPServer[Any] = MCPServer(
            "test", extensions=extensions, lifespan=lifespan or self.extension.lifespan
        )
        sink: Any = self.sink if is_guarded else self.evaluate

        @denials_as_results
        async def eval_page(code: str) -> str:
            return str(await sink(code))

        async def fill(text: str) -> str:
            return f"filled {text}"

        server.add_tool(eval_page)
        server.add_tool(fill)
        return server


async def call(server: MCPServer[Any], name: str = "eval_page", **arguments: Any) -> CallToolResult:
    async with Client(server) as client:
        result = await client.call_tool(name, arguments)
    assert isinstance(result, CallToolResult)
    return result


Body = Callable[[Setup], Awaitable[None]]


def assert_denied(result: Any, code: str) -> None:
    assert result.is_error
    assert result.structured_content["code"] == code
    assert result.structured_content["next_actions"][0] in result.content[0].text


def test_a_payload_is_judged_before_the_tool_runs(run: Any) -> None:
    async def body(setup: Setup) -> None:
        server = setup.serve(setup.extension, is_guarded=False)

        allowed = await call(server, code=SAFE)
        denied = await call(server, code=ESCAPE)

        assert (allowed.is_error, allowed.structured_content) == (False, {"result": "value"})
        assert_denied(denied, "EVAL_BLOCKED_CONSTRUCT")
        assert setup.ran == [SAFE]

    run(body)


def test_a_tool_that_evaluates_nothing_is_none_of_the_guards_business(run: Any) -> None:
    async def body(setup: Setup) -> None:
        result = await call(setup.serve(setup.extension), "fill", text="correct horse")

        assert (result.is_error, result.structured_content) == (False, {"result": "filled correct horse"})

    run(body)


def test_before_its_lifespan_has_begun_it_denies(run: Any) -> None:
    async def body(setup: Setup) -> None:
        server: MCPServer[Any] = MCPServer("test", extensions=[setup.extension])
        server.add_tool(setup.evaluate, name="eval_page")

        assert_denied(await call(server, text=SAFE), "CONFIG_INVALID")
        assert setup.ran == []

    run(body)


def test_an_extension_behind_ours_keeps_the_server_from_starting(run: Any) -> None:
    async def body(setup: Setup) -> None:
        server = setup.serve(setup.extension, Rewriting())

        with pytest.raises(BaseException, match="behind this one") as refusal:
            async with setup.extension.lifespan(server):
                pytest.fail("it started")

        assert isinstance(refusal.value, GuardSetupError)
        with pytest.raises(BaseException):  # noqa: B017, PT011 - any exception of a client whose server ends
            await call(server, code=SAFE)
        assert setup.ran == []

    run(body)


def test_what_an_extension_in_front_of_ours_made_is_judged(run: Any) -> None:
    async def body(setup: Setup) -> None:
        server = setup.serve(Rewriting(), setup.extension, is_guarded=False)

        assert_denied(await call(server, code=SAFE), "EVAL_BLOCKED_CONSTRUCT")
        assert setup.ran == []

    run(body)


def test_a_call_past_every_interceptor_runs_only_what_the_sink_had_judged(run: Any) -> None:
    async def body(setup: Setup) -> None:
        later = Later()
        later.server = setup.serve(later, setup.extension)

        result = await later.handle(None, None)

        assert_denied(result, "EVAL_BLOCKED_CONSTRUCT")
        assert setup.ran == []

    run(body)


def test_a_tool_that_the_manifest_lacks_keeps_the_server_from_starting(run: Any) -> None:
    async def body(setup: Setup) -> None:
        server = setup.serve(setup.extension)
        server.add_tool(setup.evaluate, name="run_code")

        with pytest.raises(GuardSetupError, match=r"(?s)no tool run_code.*operation_type: eval"):
            async with setup.extension.lifespan(server):
                pytest.fail("it started")

    run(body)


def test_a_renamed_argument_is_refused_with_the_yaml(run: Any) -> None:
    async def body(setup: Setup) -> None:
        server: MCPServer[Any] = MCPServer("test", extensions=[setup.extension])

        async def eval_page(script: str) -> str:
            return await setup.evaluate(script)

        server.add_tool(eval_page)

        with pytest.raises(
            GuardSetupError, match=r"(?s)lacks the source field code.*source_fields:.*- script"
        ):
            async with setup.extension.lifespan(server):
                pytest.fail("it started")

    run(body)


def test_the_servers_own_lifespan_is_entered_inside(run: Any) -> None:
    async def body(setup: Setup) -> None:
        entered: list[Any] = []

        class Own:
            def __init__(self, server: MCPServer[Any]) -> None:
                entered.append(server)

            async def __aenter__(self) -> str:
                return "state"

            async def __aexit__(self, *_: object) -> None:
                entered.append("left")

        setup.extension = EvalwardExtension(setup.guard, setup.manifest, lifespan=Own)
        server = setup.serve(setup.extension)

        async with setup.extension.lifespan(server) as state:
            assert state == "state"
        assert entered == [server, "left"]

    run(body)
