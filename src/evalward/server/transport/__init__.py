"""The gRPC edge: sockets, TLS, tokens, connection limits, and the RPC handlers."""
