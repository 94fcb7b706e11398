"""A parse that ends within a counted budget, whatever the input (guard.md §4).

Broken input parses super-linearly while it holds the GIL. tree-sitter 0.26 can be stopped only through the
progress callback of a parse that reads its text through a callable. Nothing here reads a clock: the same
input spends the same budget on every machine.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tree_sitter import Parser

from evalward.guard.syntax.grammar import LANGUAGE
from evalward.guard.syntax.suspect import affordable_calls

if TYPE_CHECKING:
    from tree_sitter import Node, Point, Tree

_CHUNK = 4096
# One progress call is 100 parser operations, 15 to 17 µs on ordinary code: 3,000 are about 50 ms at 64 KiB.
_CALLS_PER_64K = 3_000
# The densest valid text (`;;;;`) needs one call per 14 bytes; error recovery that loops needs far more.
_BYTES_PER_CALL = 12
_CALLS_AT_START = 48
# Valid text is read at most 3.4 times over; `/[` repeated starts a new scan to the end at every bracket.
_READS_OF_TEXT = 16
_READ_AT_START = 64 * 1024
# Calls that recovery may still spend once every parse state has an error, to locate the first error.
_CALLS_AFTER_ERROR = 16
_OWN_REFERENCES = 2


@dataclass(frozen=True, slots=True)
class SyntaxFault:
    """The text is no program: the span (in the parsed source) of the first ERROR or MISSING node."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class BudgetFault:
    """The parse used up its budget (a number of progress calls) at the offset ``start``."""

    allowed: int
    start: int


class _PerThread(threading.local):
    """A parser must not be shared between threads that parse at the same time."""

    def __init__(self) -> None:
        self.parser = Parser(LANGUAGE)


_local = _PerThread()


class Meter:
    """Gives the parser the source in slices, and counts the slices and the progress calls."""

    __slots__ = ("allowed", "calls", "calls_in_error", "offset", "read_left", "source", "spent", "views")

    def __init__(self, source: bytes, limit_bytes: int) -> None:
        self.source = memoryview(source)
        self.views: list[memoryview] = []
        self.allowed = max(_CALLS_AT_START, _CALLS_PER_64K * limit_bytes // 65_536)
        self.calls = 0
        self.calls_in_error = 0
        self.offset = 0
        self.read_left = _READS_OF_TEXT * len(source) + _READ_AT_START
        self.spent = False

    def read(self, offset: int, _point: Point) -> memoryview:
        """Return the next slice of the text; the parser's read callback."""
        self.read_left -= _CHUNK
        # There is no other way to stop a scan than to let the text end.
        view = self.source[offset : offset + _CHUNK] if self.read_left > 0 else self.source[:0]
        # A slice that is not released keeps the whole text alive (0.26.1 leaks 27 MB over 300 parses).
        self.views.append(view)
        return view

    def progress(self, offset: int, in_error: bool) -> bool:  # noqa: FBT001  the binding calls it so
        """Count a progress call; True stops the parser."""
        self.calls += 1
        self.offset = offset
        if in_error:
            self.calls_in_error += 1
            if self.calls_in_error > _CALLS_AFTER_ERROR:
                return True
        calls = self.calls
        if calls > _CALLS_AT_START + offset // _BYTES_PER_CALL or calls > self.allowed or self.read_left <= 0:
            self.spent = True
            return True
        return False

    def release(self) -> None:
        """Release the text after the parse."""
        views = self.views
        while views:
            view = views.pop()
            view.release()
            # The binding (0.26.1) keeps one reference to every slice: with the loop's name and the call's
            # argument that makes three. A fixed binding leaves two, and nothing is released here.
            if sys.getrefcount(view) > _OWN_REFERENCES:
                ctypes.pythonapi.Py_DecRef(ctypes.py_object(view))
        self.source.release()


def parse(
    source: bytes, *, limit_bytes: int, parser: Parser | None = None
) -> Tree | SyntaxFault | BudgetFault:
    """Parse ``source``; ``limit_bytes`` is the payload size limit that the budget is scaled with.

    A tree that is returned has no ERROR and no MISSING node. ``parser`` is one of another language than JavaScript.
    """
    parser = parser or _local.parser
    meter = Meter(source, limit_bytes)
    meter.allowed = affordable_calls(source, parser, meter.allowed)
    try:
        tree = parser.parse(meter.read, progress_callback=meter.progress)
    except ValueError:
        # The callback stopped the parser; without a reset the next parse would continue this one.
        parser.reset()
        if meter.spent:
            return BudgetFault(meter.allowed, meter.offset)
        return SyntaxFault(meter.offset, meter.offset)
    finally:
        meter.release()
    if meter.read_left <= 0:
        # The text was cut short after the last progress call: this is the tree of a prefix.
        return BudgetFault(meter.allowed, meter.offset)
    if tree.root_node.has_error:
        return _first_fault(tree.root_node)
    return tree


def _first_fault(root: Node) -> SyntaxFault:
    """Go down from ``root`` to the first ERROR or MISSING node; prefer an inner one, which is more precise."""
    node = root
    while True:
        for child in node.children:
            if child.has_error or child.is_missing:
                node = child
                break
        else:
            return SyntaxFault(node.start_byte, node.end_byte)
