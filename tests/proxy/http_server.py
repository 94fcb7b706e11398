"""An MCP server over streamable HTTP for tests: it keeps each body that it gets, in the file in its first argument.

``evaluate`` returns its arguments. A second argument makes it answer with JSON instead of server-sent events.
"""

import json
import socket
import sys
from pathlib import Path
from typing import Any

import uvicorn
from mcp.server.mcpserver import MCPServer
from starlette.types import ASGIApp, Receive, Scope, Send

mcp = MCPServer("recorder")


@mcp.tool()
def evaluate(code: str, password: str = "") -> str:
    return json.dumps({"code": code, "password": password})


@mcp.tool()
def click(x: float) -> str:
    return str(x)


def recording(app: ASGIApp, record: Path) -> ASGIApp:
    async def recorded(scope: Scope, receive: Receive, send: Send) -> None:
        body = bytearray()

        async def received() -> Any:
            message = await receive()
            body.extend(message.get("body", b""))
            if body and not message.get("more_body", False):
                with record.open("ab") as stream:
                    stream.write(body.hex().encode() + b"\n")
                body.clear()
            return message

        await app(scope, received, send)

    return recorded


def main() -> None:
    record, json_response = Path(sys.argv[1]), len(sys.argv) > 2
    app = recording(mcp.streamable_http_app(json_response=json_response), record)
    with socket.create_server(("127.0.0.1", 0)) as bound:
        sys.stdout.write(f"http://127.0.0.1:{bound.getsockname()[1]}/mcp\n")
        sys.stdout.flush()
        uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[bound])


main()
