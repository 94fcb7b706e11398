"""Evalward: the sidecar that an MCP dispatcher asks before it evaluates JavaScript that an agent wrote."""
