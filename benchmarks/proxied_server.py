"""A small MCP server that answers at once: what is measured is the proxy in front of it."""

import sys

TOOLS = (
    b'{"tools":[{"name":"evaluate","inputSchema":{"type":"object","properties":{"code":{"type":"string"}}}},'
    b'{"name":"click","inputSchema":{"type":"object","properties":{"x":{"type":"number"}}}}]}'
)
SERVER = (
    b'{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"fast","version":"1"}}'
)
MANIFEST = """api_version: evalward/v1
server: fast
tools:
  - {name: evaluate, operation_type: eval, target: renderer, shape: function, source_fields: [code]}
  - {name: click, operation_type: command}
"""


def main() -> None:
    """Answer each request until the input ends."""
    out = sys.stdout.buffer
    for line in sys.stdin.buffer:
        # The benchmark writes `"id":N,` first, so that nothing is parsed here.
        start = line.find(b'"id":')
        if start < 0:
            continue
        id_ = line[start + 5 : line.index(b",", start)]
        result = (
            SERVER if b'"initialize"' in line else TOOLS if b'"tools/list"' in line else b'{"content":[]}'
        )
        out.write(b'{"jsonrpc":"2.0","id":' + id_ + b',"result":' + result + b"}\n")
        out.flush()


if __name__ == "__main__":
    main()
