"""The proxy before an unmodified MCP server: it judges ``tools/call`` and passes everything else through.

``messages`` and ``session`` say what is sent for a message and do no I/O; ``stdio`` moves lines between the client and
the server's process. See docs/design/front-doors.md.
"""
