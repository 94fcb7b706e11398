"""The limit of streams, when an idle stream gets its next item just as it is evicted."""

import threading
from typing import Any

import pytest

from evalward.errors import Code, CodedError, Meta, Provenance, error_envelope
from evalward.judging.requester import Requester
from evalward.server.transport.streams import GIVES_WAY_SECONDS, Stream, Streams

META = Meta(
    elapsed_ms=0, decision_id="0" * 32, provenance=Provenance("0.0.0", "0" * 64, "0" * 12, "x"), audited=False
)


class Call:
    """The part of a gRPC call that a stream uses."""

    def __init__(self) -> None:
        self.code: Any = None
        self.is_cancelled = False

    def set_code(self, code: Any) -> None:
        self.code = code

    def set_details(self, details: str) -> None: ...

    def set_trailing_metadata(self, trailing: Any) -> None: ...

    def cancel(self) -> None:
        self.is_cancelled = True


def open_stream(places: Streams, refused: list[Code], caller: str, *, idle: float) -> tuple[Stream, Call]:
    """Open one that has been idle for ``idle`` seconds."""
    call = Call()
    stream = Stream(call, lambda _response: None, Requester(caller, caller))  # type: ignore[arg-type]  # a part of one

    def refusal(why: CodedError) -> dict[str, Any]:
        refused.append(Code(why.code))
        return error_envelope(why.code, why.message, meta=META)

    places.enter(stream, refusal)
    stream.idle_since -= idle
    return stream, call


class PolicyJudge(Stream):
    """A stream whose next item comes when it has been looked at, and before its place is taken."""

    def idle_for(self, now: float) -> float:
        idle = super().idle_for(now)
        item = threading.Thread(target=self.judges)
        item.start()
        item.join()
        return idle


@pytest.mark.parametrize("by", ["another", "time"])
def test_a_stream_whose_item_has_just_come_keeps_its_place_and_is_told_nothing(by: str) -> None:
    places, refused = Streams(1, idle_seconds=1), list[Code]()
    stream, call = open_stream(places, refused, "first", idle=10)
    stream.__class__ = PolicyJudge

    if by == "time":
        places.sweep()
    else:
        with pytest.raises(CodedError) as full:
            open_stream(places, refused, "second", idle=0)
        assert full.value.code is Code.OVERLOADED

    assert (len(places), refused, stream.is_ended) == (1, [], False)
    assert call.code is None
    assert not call.is_cancelled


def test_the_next_idle_stream_gives_way_when_the_first_has_an_item() -> None:
    places, refused = Streams(2, idle_seconds=0), list[Code]()
    busy, _ = open_stream(places, refused, "first", idle=20)
    idle, told = open_stream(places, refused, "first", idle=10)
    busy.__class__ = PolicyJudge

    open_stream(places, refused, "second", idle=0)

    assert (len(places), refused) == (2, [Code.OVERLOADED])
    assert (busy.is_ended, idle.is_ended) == (False, True)
    assert told.code is not None


def test_a_stream_that_has_just_sent_keeps_its_place() -> None:
    places, refused = Streams(1, idle_seconds=0), list[Code]()
    stream, _ = open_stream(places, refused, "first", idle=GIVES_WAY_SECONDS / 2)

    with pytest.raises(CodedError):
        open_stream(places, refused, "second", idle=0)

    assert not stream.is_ended
