"""Ask a server who it is and which tools it has, as a client would, and end it."""

from __future__ import annotations

import json
import threading
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

from mcp_types import LATEST_PROTOCOL_VERSION, InitializeResult, ListToolsResult
from pydantic import ValidationError

from evalward.proxy.answers import line_of
from evalward.proxy.listing import MOST_TOOLS
from evalward.proxy.process_tree import ServerProcess

if TYPE_CHECKING:
    from collections.abc import Sequence

_END_SECONDS = 2.0


class ProbeError(Exception):
    """The server did not answer as the MCP says; the text says what it did."""


class Probed(NamedTuple):
    """A server's name and version, and the entries of its ``tools/list``."""

    name: str
    version: str
    tools: tuple[dict[str, Any], ...]


def probe(command: Sequence[str], *, seconds: float) -> Probed:
    """Return what the server says of itself. Raises ProbeError, also after ``seconds``, and OSError as Popen does.

    A process that it leaves behind is ended, if ``adopt_orphans`` was called.
    """
    server = ServerProcess(command)
    limit = threading.Timer(seconds, server.kill)
    limit.daemon = True
    limit.start()
    try:
        return _probed(server)
    except (BrokenPipeError, EOFError):
        raise ProbeError(f"the server ended, or did not answer within {seconds:g} s") from None
    finally:
        limit.cancel()
        server.close_input()
        server.end(seconds=_END_SECONDS)


def _probed(server: ServerProcess) -> Probed:
    params = {
        "protocolVersion": LATEST_PROTOCOL_VERSION,
        "capabilities": {},
        "clientInfo": {"name": "evalward", "version": version("evalward")},
    }
    try:
        introduced = InitializeResult.model_validate(_asked(server, 0, "initialize", params)).server_info
    except ValidationError:
        raise ProbeError("the answer to initialize is none of the MCP's") from None
    server.stdin.write(line_of({"jsonrpc": "2.0", "method": "notifications/initialized"}))
    tools: list[dict[str, Any]] = []
    cursor: str | None = None
    for number in range(1, MOST_TOOLS):
        page = _asked(server, number, "tools/list", {} if cursor is None else {"cursor": cursor})
        try:
            cursor = ListToolsResult.model_validate(page).next_cursor
        except ValidationError:
            raise ProbeError("the answer to tools/list is none of the MCP's") from None
        tools += page["tools"]
        if cursor is None:
            break
    return Probed(introduced.name, introduced.version, tuple(tools))


def _asked(server: ServerProcess, id_: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a request; what the server asks or tells in between is left without an answer."""
    server.stdin.write(line_of({"jsonrpc": "2.0", "id": id_, "method": method, "params": params}))
    server.stdin.flush()
    while line := server.stdout.readline():
        try:
            answer = json.loads(line)
        except ValueError:
            continue
        if not isinstance(answer, dict) or answer.get("id") != id_ or "method" in answer:
            continue
        result = answer.get("result")
        if not isinstance(result, dict):
            raise ProbeError(f"the server answers {method} with an error")
        return result
    raise EOFError
