"""The sandbox: run an allowed payload in QuickJS on WebAssembly, with no I/O and hard limits (sandbox.md)."""
