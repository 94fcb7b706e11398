"""The service's log on stderr: one line of text, or one JSON object, for each event.

The service never logs payload text. Of log messages of libraries, and of uncaught exceptions, only the place and the
type are written: gRPC, for example, quotes metadata that it cannot decode, and a caller can send such metadata at any
rate.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
import time
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from types import TracebackType

OWN: Final = "evalward"
"""The logger whose records are written unchanged, its children included."""
WITHHELD_SECONDS: Final = 60.0
"""The least time between two notes that a library has logged something."""
LOG: Final = logging.getLogger(OWN)
_TEXT: Final = "%(asctime)s %(levelname)s %(name)s %(message)s"


class LogStyle(StrEnum):
    """The value of ``--log-format``."""

    TEXT = "text"
    JSON = "json"


class JsonFormatter(logging.Formatter):
    """Writes ``ts`` (RFC 3339, UTC), ``level``, ``logger``, ``message``, and what ``extra={"fields": {...}}`` holds.

    Of an exception only the type and the place are written: its text may quote input.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return ``record`` as one line of JSON."""
        line: dict[str, Any] = {
            "ts": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="microseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[0] is not None:
            line["exception"] = record.exc_info[0].__name__
        return json.dumps(line, ensure_ascii=True, default=str)


class TextFormatter(logging.Formatter):
    """Writes the same as a line of text; of an exception, too, only the type."""

    def __init__(self) -> None:
        super().__init__(_TEXT)

    def formatException(self, ei: Any) -> str:  # noqa: N802 - the library's name
        """Return the type of the exception."""
        return str(getattr(ei[0], "__name__", ei[0]))


class StderrHandler(logging.StreamHandler[Any]):
    """Writes to stderr; instead of a library's messages, their number, once per minute and logger."""

    def __init__(self) -> None:
        super().__init__(sys.stderr)
        self._withheld: dict[str, int] = {}
        self._due: dict[str, float] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Write ``record``, or a note about it; logging's lock for this handler is held."""
        if record.name == OWN or record.name.startswith(f"{OWN}."):
            super().emit(record)
            return
        name, now = record.name, time.monotonic()
        self._withheld[name] = self._withheld.get(name, 0) + 1
        if now < self._due.get(name, 0.0):
            return
        self._due[name] = now + WITHHELD_SECONDS
        said = logging.LogRecord(
            name,
            record.levelno,
            record.pathname,
            record.lineno,
            "%d messages withheld, which may quote a caller; the last is of %s:%d",
            (self._withheld.pop(name), Path(record.pathname).name, record.lineno),
            record.exc_info,
        )
        super().emit(said)


def log_to_stderr(style: LogStyle) -> None:
    """Write log records from level INFO on, and uncaught exceptions, to stderr, in ``style``."""
    handler = StderrHandler()
    handler.setFormatter(JsonFormatter() if style is LogStyle.JSON else TextFormatter())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    threading.excepthook = lambda failure: _uncaught(failure.exc_type, failure.exc_traceback)
    sys.unraisablehook = lambda failure: _uncaught(failure.exc_type, failure.exc_traceback)


def _uncaught(kind: type[BaseException] | None, trace: TracebackType | None) -> None:
    """Log the place and the type of an uncaught exception, without its text, which may contain payload."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = (
        "nowhere" if trace is None else f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
    )
    thread = threading.current_thread().name
    LOG.error("%s in thread %s at %s", getattr(kind, "__name__", kind), thread, place)
