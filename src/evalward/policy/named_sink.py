"""The sink that a request names, checked against what else the request declares (front-doors.md §1)."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final

from evalward.codes import Code
from evalward.errors import CodedError, Repair, pointer
from evalward.guard.sinks import sinks
from evalward.guard.target import Target, parse_target

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evalward.guard.sinks import Sink
    from evalward.guard.target import Shape

_SIMILAR: Final = 3


class UnknownSink(CodedError, ValueError):  # noqa: N818 - named for what it says
    """INVALID_INPUT: there is no such sink, or it contradicts what else the request declares."""


def asked_sink(
    name: str,
    *,
    target: Target | str | None = None,
    shape: Shape | str | None = None,
    bindings: Mapping[str, str] | None = None,
) -> Sink:
    """Return the sink called ``name``; raise UnknownSink (INVALID_INPUT) if there is none, or on a contradiction.

    A sink sets its target, its readings and its bindings. A request that declares another target, any shape, or
    another kind for a name that the sink binds is rejected, because one of the two declarations must be wrong.
    """
    sink = sinks().get(name)
    if sink is None:
        similar = difflib.get_close_matches(name, sinks(), n=_SIMILAR)
        raise UnknownSink(
            Code.INVALID_INPUT,
            "There is no sink of this name.",
            repair=Repair(field="/sink", allowed=[*sinks()]),
            similar_refs=similar,
        )
    if target is not None and _target(target) is not sink.target:
        raise UnknownSink(
            Code.INVALID_INPUT,
            f"The sink {sink.id} evaluates in the target {sink.target}; the request says another.",
            repair=Repair(field="/target", allowed=[sink.target]),
        )
    if shape is not None:
        raise UnknownSink(
            Code.INVALID_INPUT,
            f"The sink {sink.id} defines how it reads a text; a shape in the same request could only contradict it.",
            repair=Repair(field="/shape", allowed=[]),
        )
    for each, kind in (bindings or {}).items():
        own = sink.bindings.get(each)
        if own is not None and own != kind:
            raise UnknownSink(
                Code.INVALID_INPUT,
                f"The sink {sink.id} binds {each} to something else.",
                repair=Repair(field=pointer("bindings", each), allowed=[own]),
            )
    return sink


def _target(name: Target | str) -> Target:
    return name if isinstance(name, Target) else parse_target(name)
