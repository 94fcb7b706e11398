"""The guard inside an MCP server: extensions for FastMCP 4 and mcp 2, and denials as results (contract.md §7).

An extension gives early feedback; ``evalward.client.guarded`` at the sink enforces. An extension that is registered
later can change the arguments, and a task runs its tool without any interceptor.
"""

from evalward.mcp.gate import Gate, GuardSetupError, Served
from evalward.mcp.result import denials_as_results, to_result

__all__ = ["Gate", "GuardSetupError", "Served", "denials_as_results", "to_result"]
