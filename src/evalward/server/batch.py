"""ValidateBatch and ValidateStream: many payloads, each judged, recorded and bound as one alone (contract.md §5)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from evalward.errors import Code, CodedError, Meta, Repair, error_envelope, pointer, success_envelope
from evalward.server.answers import Answer
from evalward.server.caller import NOBODY
from evalward.server.case import Case
from evalward.server.items import BatchReading, ItemReading, StreamReading, check_size
from evalward.server.room import check_open
from evalward.v1 import evalward_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from evalward.errors import Provenance
    from evalward.server.caller import Caller
    from evalward.server.decision import Decider, Draft
    from evalward.server.items import Batch


CHUNK: Final = 256
# What a worker gets at once: it is woken once for all of them, and one long payload is as much.
TOGETHER_ITEMS: Final = 128
TOGETHER_BYTES: Final = 128 * 1024
_LAST: Final = frozenset({Code.BATCH_TOO_LARGE, Code.SHUTTING_DOWN})


class Status(IntEnum):
    """What became of an item, with the numbers of the protocol."""

    ALLOWED = pb.ITEM_STATUS_ALLOWED
    FAILED = pb.ITEM_STATUS_FAILED
    SKIPPED = pb.ITEM_STATUS_SKIPPED


class Item(NamedTuple):
    """One item, at its ``place`` from 0; ``answer`` is None for a skipped one."""

    place: int
    status: Status
    answer: Answer | None


class BatchAnswer(NamedTuple):
    """What goes back for a batch: the whole's answer, and every item, in the order of the request.

    A batch that is refused as a whole has no items here; ``item_count`` is how many it was sent with.
    """

    answer: Answer
    items: tuple[Item, ...]
    item_count: int


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """How many items, and how many bytes of them, a batch or a stream may have."""

    items: int
    bytes: int


class BatchDecider:
    """Answers batches and streams with the ``Decider`` that answers Validate."""

    def __init__(self, decider: Decider, provenance: Provenance, limits: BatchLimits) -> None:
        self._decider = decider
        self._provenance = provenance
        self._limits = limits

    def decide(
        self, wire: bytes, *, remaining: float | None, stopping: bool = False, caller: Caller = NOBODY
    ) -> BatchAnswer:
        """Answer the serialised ValidateBatchRequest ``wire``; never raises. As ``Decider.decide``."""
        reading = BatchReading(wire)
        case = Case(reading, remaining, caller)
        items: list[Item] = []

        def whole() -> Answer:
            check_open(remaining, stopping=stopping)
            batch = reading.batch(max_items=self._limits.items, max_bytes=self._limits.bytes)
            judged = self._judged(case, batch, remaining)
            answer = self._whole(case, judged)
            items.extend(judged)
            return answer

        answer = self._decider.answer(case, whole)
        return BatchAnswer(answer, tuple(items), reading.count)

    def stream(
        self,
        wires: Iterable[bytes],
        *,
        latest: Callable[[], BatchDecider],
        remaining: Callable[[], float | None],
        stopping: Callable[[], bool],
        caller: Caller = NOBODY,
    ) -> Iterator[Item]:
        """Yield what becomes of each ValidateStreamRequest of ``wires`` as it comes; never raises.

        Each is judged by the ``latest`` decider: a stream may last longer than the policy that it began with.
        The stream ends behind the item that is beyond its limits, or that a stopping service refuses.
        """
        so_far = _SoFar()
        for index, wire in enumerate(wires):
            so_far.items, so_far.size = index + 1, so_far.size + len(wire)
            if so_far.failed and so_far.stop_on_first:
                answer = latest()._within(wire, index, so_far, caller)  # noqa: SLF001 - another of this class
                yield Item(index, Status.SKIPPED if answer is None else Status.FAILED, answer)
            else:
                answer = latest()._streamed(  # noqa: SLF001 - the same
                    wire, index, so_far, remaining(), stopping=stopping(), caller=caller
                )
                so_far.failed = so_far.failed or answer.code is not None
                yield _item(index, answer)
            if answer is not None and answer.code in _LAST:
                return

    def _within(self, wire: bytes, index: int, so_far: _SoFar, caller: Caller) -> Answer | None:
        """Return the refusal of a message beyond the limits, None for one within them."""
        try:
            so_far.check(self._limits)
        except CodedError as refusal:
            return self._decider.refused(Case(StreamReading(wire, index), caller=caller), refusal)
        return None

    def _streamed(  # noqa: PLR0913 - what a stream knows of an item
        self,
        wire: bytes,
        index: int,
        so_far: _SoFar,
        remaining: float | None,
        *,
        stopping: bool,
        caller: Caller,
    ) -> Answer:
        reading = StreamReading(wire, index)

        def answered() -> Answer:
            so_far.check(self._limits)
            message = reading.item()
            if so_far.items == 1:
                so_far.stop_on_first = message.stop_on_first
            item = ItemReading(message.item, index)
            return self._decider.answer_to(item, remaining=remaining, stopping=stopping, caller=caller)

        return self._decider.answer(Case(reading, remaining, caller), answered)

    def _judged(self, case: Case, batch: Batch, remaining: float | None) -> list[Item]:
        """Judge every item; one that fails spoils no other, unless the batch stops there.

        The records of a chunk are written together, before any of its verdicts counts: handing each to the log
        by itself would cost more than all else that an item needs.
        """
        items: list[Item] = []
        stopped = False
        while len(items) < len(batch.items) and not stopped:
            chunk = batch.items[len(items) : len(items) + CHUNK]
            for answer in self._answers(case, chunk, len(items), batch, remaining):
                items.append(_item(len(items), answer))
                if batch.stop_on_first and answer.code is not None:
                    stopped = True
                    break
        items.extend(Item(index, Status.SKIPPED, None) for index in range(len(items), len(batch.items)))
        return items

    def _answers(
        self, case: Case, wires: Sequence[bytes], first: int, batch: Batch, remaining: float | None
    ) -> Iterator[Answer]:
        """Yield the answers to ``wires``, the items from place ``first`` on, and none behind a denial that ends it."""
        drafts: list[Draft] = []
        readings = [ItemReading(wire, first + place, batch.session_id) for place, wire in enumerate(wires)]
        if batch.stop_on_first:
            for reading in readings:
                draft = self._decider.draft(reading, remaining=case.left_of(remaining), caller=case.caller)
                drafts.append(draft)
                if not draft.allows:
                    break
        else:
            for some in _together(readings):
                drafts += self._decider.draft_together(
                    some, remaining=case.left_of(remaining), caller=case.caller
                )
        audited = self._decider.keep(drafts)
        for draft in drafts:
            yield self._decider.settle(draft, audited=audited, brief=True)

    def _whole(self, case: Case, items: Sequence[Item]) -> Answer:
        """Answer for the batch: the first failure gives its code, every failed and skipped item is listed."""
        failed = [item.answer for item in items if item.status is Status.FAILED and item.answer]
        first = next((item.place for item in items if item.status is Status.FAILED), 0)
        meta = Meta(
            elapsed_ms=case.elapsed_ms,
            decision_id=case.decision_id,
            provenance=self._provenance,
            audited=all(answer.envelope["_meta"]["audited"] for answer in failed),
            session_id=case.reading.received.session_id or None,
        )
        binding = self._decider.request_binding(case)
        shadow = tuple(
            dict.fromkeys(name for item in items if item.answer for name in item.answer.would_block)
        )
        if not failed:
            return Answer(None, success_envelope({"items": len(items)}, meta=meta), binding, shadow)
        code = failed[0].envelope["code"]
        message = f"{len(failed)} of {len(items)} items may not run; the first: {failed[0].envelope['error']}"
        listed = [_listed(item) for item in items if item.status is not Status.ALLOWED]
        details = {"item_count": len(items), "items": listed}
        envelope = error_envelope(
            code, message, meta=meta, details=details, repair=Repair(field=pointer("items", first))
        )
        return Answer(Code(code), envelope, binding, shadow)


@dataclass(slots=True)
class _SoFar:
    """How far a stream got."""

    items: int = 0
    size: int = 0
    failed: bool = False
    stop_on_first: bool = False

    def check(self, limits: BatchLimits) -> None:
        check_size(self.items, self.size, max_items=limits.items, max_bytes=limits.bytes)


def _item(index: int, answer: Answer) -> Item:
    return Item(index, Status.ALLOWED if answer.code is None else Status.FAILED, answer)


def _together(readings: Sequence[ItemReading]) -> Iterator[Sequence[ItemReading]]:
    """Yield ``readings`` in their order, as many at a time as are judged together."""
    together: list[ItemReading] = []
    size = 0
    for reading in readings:
        size += len(reading.wire)
        if together and (size > TOGETHER_BYTES or len(together) == TOGETHER_ITEMS):
            yield together
            together, size = [], len(reading.wire)
        together.append(reading)
    yield together


def _listed(item: Item) -> dict[str, Any]:
    listed: dict[str, Any] = {"item_index": item.place, "status": item.status.name.lower()}
    if item.answer is not None:
        listed["code"] = item.answer.code
    return listed
