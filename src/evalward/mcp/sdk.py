"""The extension for mcp 2: ``MCPServer(extensions=[…, ours], lifespan=ours.lifespan)``, the last of the list.

``Extension.intercept_tool_call`` runs around the ``tools/call`` handler; the last extension of the list is the
innermost one. The server hands itself to no extension, but to a lifespan, and that is where this one checks it.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from mcp.server.extension import Extension

from evalward.client.decision import denial
from evalward.errors import Code
from evalward.mcp.gate import IDENTIFIER, Gate, Served
from evalward.mcp.result import failure_result, to_result

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
        """``lifespan`` is the server's own, entered inside this extension's."""
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
        """Let the call go on, or answer it with the envelope that denies it; never raises for an eval tool."""
        if self._server is None or not self._is_innermost(self._server):
            message = "The guard's extension has not started as the innermost one of this server."
            return to_result(denial(Code.CONFIG_INVALID, message).envelope)
        refusal = await self._gate.refusal(params.name, params.arguments or {})
        if refusal is not None:
            return to_result(refusal)
        if not self._gate.evaluates(params.name):
            return await call_next(ctx)
        try:
            return await call_next(ctx)
        except Exception as error:  # noqa: BLE001 - its text may quote the payload, and would be logged
            return failure_result(error)

    def _is_innermost(self, server: MCPServer[Any]) -> bool:
        # The server tells nobody the order; it folds the interceptors in that of this list.
        extensions = server._extensions  # noqa: SLF001
        return bool(extensions) and extensions[-1] is self
