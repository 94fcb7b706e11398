"""An MCP server (stdio) whose eval tools run only code that Evalward allowed.

``eval_renderer`` evaluates in a page of a real Chromium, ``eval_sandbox`` in Evalward's own QuickJS. The guard is
at EVALWARD_ADDRESS or, without that variable, a child of this process.
"""

from __future__ import annotations

import asyncio
import os
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from browser import Page
from fastmcp import FastMCP

from evalward.client import AsyncGuardClient, guarded, spawn
from evalward.mcp import denials_as_results, to_result
from evalward.mcp.fastmcp import EvalwardExtension
from evalward.tools import load_manifest
from evalward.tools.describe import description

MANIFEST = Path(__file__).with_name("manifest.yaml")
TIMEOUT = 5.0  # seconds for a verdict; an agent can wait longer than the default 250 ms on a busy machine


def guard_client(stack: ExitStack) -> AsyncGuardClient:
    """Return a client of the guard at EVALWARD_ADDRESS, or of a child that is started here."""
    if "EVALWARD_ADDRESS" in os.environ:
        return AsyncGuardClient(timeout=TIMEOUT)
    return stack.enter_context(spawn(allow_eval=["renderer", "sandbox"], manifest=MANIFEST)).aio(
        timeout=TIMEOUT
    )


def build(guard: AsyncGuardClient, page: Page) -> FastMCP:
    """Return the server; its eval tool reaches the page only through the guarded sink."""
    one_at_a_time = threading.Lock()

    def evaluate_now(text: str) -> str:
        with one_at_a_time:
            return page.evaluate(text)

    async def evaluate(text: str) -> str:
        return await asyncio.to_thread(evaluate_now, text)

    in_page = guarded(evaluate, guard, sink="cdp.runtime-evaluate")
    server: FastMCP = FastMCP("evalward-example")
    manifest = load_manifest(MANIFEST)
    # The description of each tool, with every code that a call can return.
    descriptions = {tool.name: description(tool) for tool in manifest.tools}

    @server.tool(description=descriptions["eval_renderer"])
    @denials_as_results
    async def eval_renderer(code: str) -> str:
        return await in_page(code)

    @server.tool(description=descriptions["eval_sandbox"])
    async def eval_sandbox(code: str) -> Any:
        reply = await guard.evaluate(code.encode(errors="surrogatepass"))
        return (reply.result_json or b"null").decode() if reply.ok else to_result(reply.envelope)

    # The sandbox judges and runs its payload in one call, so its tool needs no guarded sink.
    server.add_extension(EvalwardExtension(guard, manifest, sinks={"eval_renderer": in_page}))
    return server


def main() -> None:
    """Serve until the host closes standard input."""
    with ExitStack() as stack:
        guard = guard_client(stack)
        page = Page()
        stack.callback(page.close)
        build(guard, page).run(transport="stdio", show_banner=False)


if __name__ == "__main__":
    main()
