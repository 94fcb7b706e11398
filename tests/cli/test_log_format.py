"""``--log-format``: the service's lines on stderr."""

import io
import json
import logging
import subprocess
import sys
from collections.abc import Iterator

import pytest

from evalward.cli.log_format import JsonFormatter, StderrHandler, TextFormatter


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


def test_what_a_library_logs_is_counted_and_not_quoted(capsys: pytest.CaptureFixture[str]) -> None:
    handler = StderrHandler()
    handler.setFormatter(TextFormatter())
    library, own = logging.getLogger("grpc._cython.cygrpc.of_test"), logging.getLogger("evalward.of_test")
    for logger in (library, own):
        logger.addHandler(handler)
        logger.propagate = False
    try:
        for number in range(1_000):
            library.error("Invalid encoding on %s of marker_52", b"marker_51 %d" % number)
        own.error("worker %d ended", 7)
    finally:
        for logger in (library, own):
            logger.removeHandler(handler)

    first, second = capsys.readouterr().err.splitlines()
    assert "1 messages withheld" in first
    assert "marker_5" not in first
    assert second.endswith("evalward.of_test worker 7 ended")


def test_a_failure_that_ends_a_thread_is_located_and_not_quoted() -> None:
    program = """
import threading
from evalward.cli.log_format import LogStyle, log_to_stderr
log_to_stderr(LogStyle.TEXT)
thread = threading.Thread(target=lambda: int("marker_" + "51"), name="of-test")
thread.start()
thread.join()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    (line,) = done.stderr.splitlines()
    assert line.endswith("evalward ValueError in thread of-test at <string>:5")
