"""The process of ``evalward serve``: block signals, print its addresses, export OpenTelemetry."""

import contextlib
import json
import logging
import os
import signal
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from evalward.audit import SCHEMA_VERSION, STDOUT
from evalward.server.transport.guard_service import ERROR_CODES_SCHEMA

if TYPE_CHECKING:
    from evalward.server.observe.traces import Traces

SIGNALS = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP})


@contextlib.contextmanager
def telemetry(*, traces: bool, logs: bool) -> Iterator["Traces | None"]:
    """Yield the exporter of spans, and export the log meanwhile. Without OpenTelemetry the service does not start."""
    with contextlib.ExitStack() as stack:
        spans = None
        try:
            if logs:
                from evalward.server.observe.otel_logs import exported_logs  # noqa: PLC0415 - an extra

                stack.callback(exported_logs().finish)
            if traces:
                from evalward.server.observe.traces import exported_traces  # noqa: PLC0415 - an extra

                spans = exported_traces()
                stack.callback(spans.close)
        except ImportError:
            raise ValueError(
                "--traces and --otel-logs need OpenTelemetry: pip install 'evalward[otel]'"
            ) from None
        yield spans


@contextlib.contextmanager
def signals_held(held: frozenset[signal.Signals] = SIGNALS) -> Iterator[None]:
    """Block the signals for ``sigwait``: a handler could run inside any lock. Threads inherit the mask."""
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, held)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)


def announce(
    bound: list[str], log_path: Path, *, admin: str | None, hooks: list[str], fronts: int | None = None
) -> None:
    """Write the ready line (JSON, service.md): the addresses, the versions of the schemas, and the process id.

    That of a supervisor has the number of its ``fronts``, and its own process id.
    """
    logging.getLogger("evalward").info(
        "audit log: %s", log_path, extra={"fields": {"listen": bound, "admin": admin}}
    )
    ready = {
        "type": "ready",
        "listen": bound,
        **({"admin": admin} if admin else {}),
        **({"hooks": hooks} if hooks else {}),
        **({"fronts": fronts} if fronts else {}),
        "schema": {"errorCodes": ERROR_CODES_SCHEMA, "audit": SCHEMA_VERSION},
        "version": version("evalward"),
        "pid": os.getpid(),
    }
    # With the audit log on stdout, stdout carries only records.
    stream = sys.stderr if str(log_path) == STDOUT else sys.stdout
    stream.write(json.dumps(ready, separators=(",", ":")) + "\n")
    stream.flush()
