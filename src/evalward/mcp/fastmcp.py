"""The extension for FastMCP 4: register it last with ``server.add_extension(EvalwardExtension(…))``.

``ServerExtension.intercept_tool_call`` runs after the middleware and before the tool's body; the extension that is
registered last is the innermost one.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from fastmcp.server.extensions import ServerExtension
from fastmcp.tools.function_tool import FunctionTool

from evalward.mcp.gate import IDENTIFIER, Gate, Served

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from fastmcp.server.context import Context
    from fastmcp.server.extensions import ToolCallContinuation, ToolCallOutcome
    from fastmcp.tools.base import Tool
    from mcp_types import CallToolRequestParams

    from evalward.client import AsyncGuardClient
    from evalward.tools import Manifest


class EvalwardExtension(ServerExtension):
    """Judges the server's eval tools; ``sinks`` are their guarded sinks, by the tools' names.

    The server does not start (GuardSetupError) unless this extension is the innermost one, the manifest has
    every tool that the server lists, and each eval tool either has a guarded sink or receives exactly the arguments
    that were judged: a function of this server, not transformed, not mounted, without tasks or versions.
    Until the server has started, every call is denied.
    """

    identifier = IDENTIFIER

    def __init__(
        self,
        guard: AsyncGuardClient,
        manifest: Manifest,
        *,
        sinks: Mapping[str, Callable[..., Any]] | None = None,
    ) -> None:
        self._gate = Gate(guard, manifest, sinks=sinks)
        self._has_started = False

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Check the server; raise GuardSetupError when it cannot be guarded as it is."""
        tools = await self.server.list_tools(run_middleware=False)
        served = [Served(tool.name, tool.parameters, _runs_elsewhere(tool)) for tool in tools]
        self._gate.check(served, innermost=self._is_innermost())
        self._has_started = True
        try:
            yield
        finally:
            self._has_started = False

    async def intercept_tool_call(
        self, params: CallToolRequestParams, context: Context, call_next: ToolCallContinuation
    ) -> ToolCallOutcome:
        """Run the call, or answer it with the envelope that denies it; never raises for an eval tool."""
        del context
        is_started = self._has_started and self._is_innermost()
        return await self._gate.intercept(params, call_next, is_started=is_started)

    def _is_innermost(self) -> bool:
        # FastMCP has no public API for the order; it nests the interceptors in the order of this mapping.
        extensions = [*self.server._extensions.values()]  # noqa: SLF001
        return bool(extensions) and extensions[-1] is self


def _runs_elsewhere(tool: Tool) -> str | None:
    """Return why the body of ``tool`` may get other arguments than those of the call."""
    if type(tool) is not FunctionTool:
        return f"is a {type(tool).__name__}, which calls another tool with arguments that it makes itself"
    if tool.task_config.supports_tasks():
        return "is task-enabled, and a task runs it past every extension"
    if tool.version is not None:
        return "has versions, whose arguments differ"
    return None
