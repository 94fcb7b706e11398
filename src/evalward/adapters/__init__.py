"""Pure functions that convert an envelope to the formats of other protocols, as JSON data (contract.md §3)."""

from evalward.adapters.jsonrpc import to_jsonrpc_error
from evalward.adapters.mcp import denial_text, to_call_tool_result
from evalward.adapters.numeric import to_numeric_error

__all__ = ["denial_text", "to_call_tool_result", "to_jsonrpc_error", "to_numeric_error"]
