"""The extension for mcp 2: put it last in ``MCPServer(extensions=[…, ours], lifespan=ours.lifespan)``.

``Extension.intercept_tool_call`` runs around the ``tools/call`` handler; the last extension of the list is the
innermost one. An extension gets no reference to the server, but a lifespan does, so the lifespan checks the server.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

from mcp.server.extension import Extension

from evalward.mcp.gate import IDENTIFIER, Gate, Served

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
    from mcp.server.mcpserver import MCPServer
    from mcp_types import CallToolRequestParams

    from evalward.client import AsyncGuardClient
    from evalward.tools import Manifest


class EvalwardExtension(Extension):
    """Judges the server's eval tools; ``sinks`` are their guarded sinks, by the tools' names.

    The server does not start (GuardSetupError) unless this extension is the innermost one and the manifest
    has every tool that the server lists. Until its ``lifespan`` has been entered, every call is denied.
    """

    identifier = IDENTIFIER

    def __init__(
        self,
        guard: AsyncGuardClient,
        manifest: Manifest,
        *,
        sinks: Mapping[str, Callable[..., Any]] | None = None,
        lifespan: Callable[[MCPServer[Any]], AbstractAsyncContextManager[Any]] | None = None,
    ) -> None:
        """``lifespan`` is the server's own; this extension's lifespan enters it first."""
        self._gate = Gate(guard, manifest, sinks=sinks)
        self._inner = lifespan or (lambda _: nullcontext())
        self._server: MCPServer[Any] | None = None

    @asynccontextmanager
    async def lifespan(self, server: MCPServer[Any]) -> AsyncIterator[Any]:
        """Check ``server``; raise GuardSetupError when it cannot be guarded as it is."""
        async with self._inner(server) as state:
            served = [Served(tool.name, tool.input_schema) for tool in await server.list_tools()]
            self._gate.check(served, innermost=self._is_innermost(server))
            self._server = server
            try:
                yield state
            finally:
                self._server = None

    async def intercept_tool_call(
        self, params: CallToolRequestParams, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        """Run the call, or answer it with the envelope that denies it; never raises for an eval tool."""
        is_started = self._server is not None and self._is_innermost(self._server)
        return await self._gate.intercept(params, partial(call_next, ctx), is_started=is_started)

    def _is_innermost(self, server: MCPServer[Any]) -> bool:
        # The server has no public API for the order; it nests the interceptors in the order of this list.
        extensions = server._extensions  # noqa: SLF001
        return bool(extensions) and extensions[-1] is self
