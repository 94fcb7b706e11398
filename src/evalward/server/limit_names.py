"""The names of the limits in ``details.limit`` of a rejection; metrics use the same names."""

from __future__ import annotations

from typing import Final

UNREAD: Final = "unread"
"""Calls whose request has not arrived completely; also the RPC label of calls that are rejected unread."""
STREAM_IDLE: Final = "stream_idle"
"""Seconds that a stream may be open without a new item."""
LIMITS: Final = (
    # the guard
    "payload_bytes",
    "depth",
    "nodes",
    "parse_budget",
    "steps",
    "analysis_ms",
    "bindings",
    # the service
    "max_concurrent",
    "workers",
    "queue",
    "streams",
    STREAM_IDLE,
    UNREAD,
    "batch_items",
    "batch_bytes",
    "program_bytes",
    "denial_reports",
    # tool calls
    "arguments_bytes",
    "argument_values",
    "argument_depth",
    "source_fields",
    # the sandbox
    "argument_bytes",
    "fuel",
    "deadline_ms",
    "memory_bytes",
    "stack_bytes",
    "result_bytes",
    "console_bytes",
    "evaluation_queue",
    "evaluation_workers",
)
"""Every ``details.limit``; each time series exists from the start, so that the first rejection is an increase."""
