"""How the service writes its log to stderr: one line of text, or one JSON object, for each event.

What is logged is named, counted and located, and never a payload: see the callers of ``logging`` in the service.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

_TEXT: Final = "%(asctime)s %(levelname)s %(name)s %(message)s"


class LogStyle(StrEnum):
    """The value of ``--log-format``."""

    TEXT = "text"
    JSON = "json"


class JsonFormatter(logging.Formatter):
    """Writes ``ts`` (RFC 3339, UTC), ``level``, ``logger``, ``message``, and what ``extra={"fields": {...}}`` holds.

    Of an exception only the type and the place are written: its text may quote what it could not read.
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


def log_to_stderr(style: LogStyle) -> None:
    """Write whatever is logged from level INFO on to stderr, in ``style``."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if style is LogStyle.JSON else TextFormatter())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
