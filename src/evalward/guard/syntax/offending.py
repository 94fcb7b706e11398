"""The token of a syntax error: the first one that no parse of the text can continue with.

An ERROR node covers the text that error recovery skipped. It begins at the last correct token, or far before it. The
parser's log says how far the parser got.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from tree_sitter import Parser

from evalward.guard.syntax.grammar import LANGUAGE
from evalward.guard.syntax.parse import Meter

if TYPE_CHECKING:
    from tree_sitter import LogType

_MAX_MESSAGES: Final = 12_000
"""Messages of the log that are read. It has one for each character, at 1 µs each: about 10 ms, or 3 KB of text."""
_BEFORE: Final = 1024
"""How many bytes before the ERROR node the log is switched on."""

_PROCESS: Final = re.compile(r"process version:\d+, version_count:\d+, state:\d+, row:(\d+), col:(\d+)")
_TRIVIA: Final = re.compile(
    rb"(?:[\s]|\xc2\xa0|\xef\xbb\xbf|\xe2\x80[\xa8\xa9]|//[^\n\r]*+|/\*(?:[^*]|\*(?!/))*+\*/)*+"
)
_TOKEN: Final = re.compile(rb"[\w$\x80-\xff]+|[\s\S]|\Z")


class _Log:
    """Records the furthest place that any parse state reached before the first one needed recovery."""

    def __init__(self) -> None:
        self.furthest = (0, 0)
        self.found = False
        self.left = _MAX_MESSAGES

    def __call__(self, _kind: LogType, message: str) -> None:
        self.left -= 1
        if self.found or message[0] not in "pr":
            return
        if message.startswith("resume version"):
            self.found = True
        elif match := _PROCESS.match(message):
            self.furthest = max(self.furthest, (int(match[1]), int(match[2])))


def offending_token(source: bytes, fault: int) -> tuple[int, int] | None:
    """Return the span of the token at which ``source`` stops being a program; an empty span at its end.

    ``fault`` is where the ERROR node begins, at or before that token. None: the log is too long, or has no fault.
    """
    log = _Log()
    parser = Parser(LANGUAGE)  # a new one, because it keeps its logger
    meter = Meter(source, len(source))
    listening = fault <= _BEFORE
    if listening:
        parser.logger = log

    def progress(offset: int, in_error: bool) -> bool:  # noqa: FBT001  the binding calls it so
        nonlocal listening
        if not listening and offset >= fault - _BEFORE:
            listening = True
            parser.logger = log
        return log.found or log.left < 0 or meter.progress(offset, in_error)

    try:
        parser.parse(meter.read, progress_callback=progress)
    except ValueError:  # the callback stopped it
        pass
    finally:
        meter.release()
    if not log.found:
        return None
    row, column = log.furthest
    start = 0
    for _ in range(row):
        start = source.find(b"\n", start) + 1
    place = _TRIVIA.match(source, start + column)
    at = place.end() if place else start + column
    if source[fault : fault + 1] in (b"'", b'"') and b"\n" in source[fault:at]:
        return fault, start + column  # a string without an end
    token = _TOKEN.match(source, at)
    return at, token.end() if token else at
