"""``--log-format``: what the service writes to stderr."""

import io
import json
import logging
from collections.abc import Iterator

import pytest

from evalward.cli.log_format import JsonFormatter, TextFormatter


@pytest.fixture
def log() -> Iterator[tuple[logging.Logger, io.StringIO, logging.StreamHandler[io.StringIO]]]:
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    logger = logging.getLogger("test.log_format")
    logger.addHandler(handler)
    logger.propagate = False
    yield logger, written, handler
    logger.removeHandler(handler)


Log = tuple[logging.Logger, io.StringIO, logging.StreamHandler[io.StringIO]]


def test_json_is_one_object_a_line_with_named_fields(log: Log) -> None:
    logger, written, handler = log
    handler.setFormatter(JsonFormatter())
    logger.warning("%d records\nwere lost", 3, extra={"fields": {"unrecorded": 3}})
    (line,) = written.getvalue().splitlines()
    said = json.loads(line)
    assert said.pop("ts").endswith("+00:00")
    assert said == {
        "level": "warning",
        "logger": "test.log_format",
        "message": "3 records\nwere lost",
        "unrecorded": 3,
    }


@pytest.mark.parametrize("formatter", [JsonFormatter(), TextFormatter()], ids=["json", "text"])
def test_of_an_exception_only_the_type_is_written(log: Log, formatter: logging.Formatter) -> None:
    logger, written, handler = log
    handler.setFormatter(formatter)
    try:
        int("marker_51")
    except ValueError:
        logger.exception("it failed")
    assert "ValueError" in written.getvalue()
    assert "marker_51" not in written.getvalue()
