"""Judging behind one interface: in this process or in worker processes, with a verdict cache in front.

The server knows only ``executor.Executor``. Nothing here imports the server.
"""
