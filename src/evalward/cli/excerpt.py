"""Show the place of a finding in a payload, with control characters escaped for the terminal."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len

from evalward.printable import printable

if TYPE_CHECKING:
    from evalward.guard.verdict import Location

_LINE_END = re.compile("\r\n|[\n\r\u2028\u2029]")  # ECMA-262 §12.3
_BEFORE = 50
_WIDTH = 100


@dataclass(frozen=True, slots=True)
class Excerpt:
    """One line of a payload, escaped for printing, and the line of carets below it."""

    source: str
    carets: str


def excerpt(payload: bytes, location: Location) -> Excerpt:
    r"""Return the line of ``payload`` that ``location`` begins on, cut to a readable width around it.

    Bytes that are not UTF-8 are shown as ``\xNN``.
    """
    before = _text(payload[: location.start])
    marked = _text(payload[location.start : location.end])
    after = _text(payload[location.end : location.end + 4 * _WIDTH])
    before = _LINE_END.split(before)[-1]
    marked, *rest = _LINE_END.split(marked)
    after = "" if rest else _LINE_END.split(after)[0]
    lead = _cut_left(printable(before), _BEFORE)
    body = _cut_right(printable(marked), _WIDTH - len(lead)) or " "
    tail = _cut_right(printable(after), max(_WIDTH - len(lead) - len(body), 1)) if after else ""
    return Excerpt(lead + body + tail, " " * cell_len(lead) + "^" * cell_len(body))


def _text(part: bytes) -> str:
    return part.decode("utf-8", "backslashreplace")


def _cut_left(text: str, width: int) -> str:
    return text if len(text) <= width else "…" + text[1 - width :]


def _cut_right(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
