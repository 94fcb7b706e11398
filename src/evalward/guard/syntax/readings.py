"""The programs of a text for a named sink: one for each way in which the driver reads it (front-doors.md §1)."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from evalward.guard.constructs import parser_ambiguity
from evalward.guard.sinks import Frame
from evalward.guard.syntax.shapes import Rejection, declared, undeclared
from evalward.guard.target import Shape

if TYPE_CHECKING:
    from evalward.guard.sinks import Sink
    from evalward.guard.syntax.program import ParsedProgram

_SHAPES: Final = {
    Frame.SCRIPT: (Shape.SCRIPT,),
    # At its top level `await` is the operator of an async function; declarations are the script's.
    Frame.REPL: (Shape.SCRIPT, Shape.ASYNC_BODY),
    Frame.EXPRESSION: (Shape.EXPRESSION,),
    Frame.BODY: (Shape.ASYNC_BODY,),
}
# Comments only at the start of a line or a script: one reading sees a comment where another sees none.
_COMMENT_FIRST: Final = re.compile(r"(?:\s|\ufeff|/\*[\s\S]*?\*/)*+(?:<!--|-->|#!)")


def programs_for(payload: bytes, sink: Sink, *, limit_bytes: int) -> tuple[ParsedProgram, ...] | Rejection:
    """Return the programs that ``payload``, which is valid UTF-8, is for ``sink``, or why it is none.

    A text that two readings of the sink parse differently is ``parser-ambiguity``. A text that is no program under a
    reading that is not optional is rejected.
    """
    text = sink.read(payload.decode())
    # White space at the start changes no program; what the driver removes from the end may.
    if sink.without_return:
        # The driver evaluates another text, so locations refer to that one.
        payload = text.encode()
    read = payload if not sink.drops else payload[: payload.rfind(text.encode()) + len(text.encode())]
    taken = sink.readings_of(text)
    found = _programs(read, text, {reading.frame for reading in taken}, limit_bytes)
    if isinstance(found, Rejection):
        return found
    wanted = {shape for reading in taken for shape in _SHAPES[reading.frame]}
    called = any(reading.called for reading in taken)
    programs = tuple(_as_read(program, wanted, called=called) for program in found)
    for reading in taken:
        needed = set(_SHAPES[reading.frame])
        if not (reading.optional or any(needed & set(program.shapes) for program in programs)):
            return Rejection(None, 0, len(read))
    return programs


def _programs(
    read: bytes, text: str, frames: set[Frame], limit_bytes: int
) -> tuple[ParsedProgram, ...] | Rejection:
    if len(frames) > 1:
        if _COMMENT_FIRST.match(text):
            return Rejection(parser_ambiguity.LABEL, 0, len(read))
        return undeclared(read, limit_bytes)
    (frame,) = frames
    return declared(read, _SHAPES[frame][-1 if frame is Frame.BODY else 0], limit_bytes)


def _as_read(program: ParsedProgram, wanted: set[Shape], *, called: bool) -> ParsedProgram:
    """Return ``program`` with the shapes of the sink's own readings."""
    found = {Shape.EXPRESSION if shape is Shape.FUNCTION else shape for shape in program.shapes}
    if wanted >= {Shape.SCRIPT, Shape.ASYNC_BODY} and Shape.SCRIPT in found:
        found.add(Shape.ASYNC_BODY)
    return replace(program, shapes=tuple(shape for shape in Shape if shape in found & wanted), called=called)
