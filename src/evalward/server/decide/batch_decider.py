"""ValidateBatch and ValidateStream: each payload is judged, recorded and bound like a single one (contract.md §5)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from evalward.errors import Code, CodedError, Meta, Repair, error_envelope, pointer, success_envelope
from evalward.server.decide.decisions import Decision
from evalward.server.decide.load_shedding import check_open
from evalward.server.decide.request_context import RequestContext
from evalward.server.requests.batch_request import BatchReader, ItemReader, StreamItemReader, check_size
from evalward.server.requests.caller import UNKNOWN_CALLER
from evalward.v1 import evalward_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from evalward.errors import Provenance
    from evalward.server.decide.decider import Decider, PendingDecision
    from evalward.server.requests.batch_request import Batch
    from evalward.server.requests.caller import Caller


CHUNK: Final = 256
# The size of one dispatch to a worker, which is then woken once; one long payload has as many bytes.
TOGETHER_ITEMS: Final = 128
TOGETHER_BYTES: Final = 128 * 1024
PROGRAM_BYTES: Final = 8 * 1024 * 1024
"""The bytes of all hardened programs in one response: a client takes 16 MiB."""
_LAST: Final = frozenset({Code.BATCH_TOO_LARGE, Code.SHUTTING_DOWN})


class Status(IntEnum):
    """The outcome of an item, with the numbers of the protocol."""

    ALLOWED = pb.ITEM_STATUS_ALLOWED
    FAILED = pb.ITEM_STATUS_FAILED
    SKIPPED = pb.ITEM_STATUS_SKIPPED


class Item(NamedTuple):
    """One item; ``place`` counts from 0, ``decision`` is None for a skipped one."""

    place: int
    status: Status
    decision: Decision | None


class BatchDecision(NamedTuple):
    """The decision on a batch and on every item, in request order.

    A batch that is rejected as a whole has no items here; ``item_count`` is the number that was sent.
    """

    decision: Decision
    items: tuple[Item, ...]
    item_count: int


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """The maximum number and total bytes of the items of a batch or stream."""

    items: int
    bytes: int


class BatchDecider:
    """Decides batches and streams with the ``Decider`` that serves Validate."""

    def __init__(self, decider: Decider, provenance: Provenance, limits: BatchLimits) -> None:
        self._decider = decider
        self._provenance = provenance
        self._limits = limits

    def decide(
        self, wire: bytes, *, remaining: float | None, stopping: bool = False, caller: Caller = UNKNOWN_CALLER
    ) -> BatchDecision:
        """Decide the serialised ValidateBatchRequest ``wire``; never raises. Parameters as in ``Decider.decide``."""
        reader = BatchReader(wire)
        request = RequestContext(reader, remaining, caller)
        items: list[Item] = []

        def whole() -> Decision:
            check_open(remaining, stopping=stopping)
            batch = reader.batch(max_items=self._limits.items, max_bytes=self._limits.bytes)
            judged = self._judged(request, batch, remaining)
            decision = self._whole(request, judged)
            items.extend(judged)
            return decision

        decision = self._decider.guarded(request, whole)
        return BatchDecision(decision, tuple(items), reader.count)

    def stream(
        self,
        wires: Iterable[bytes],
        *,
        latest: Callable[[], BatchDecider],
        remaining: Callable[[], float | None],
        stopping: Callable[[], bool],
        caller: Caller = UNKNOWN_CALLER,
    ) -> Iterator[Item]:
        """Yield the result of each ValidateStreamRequest of ``wires`` as it arrives; never raises.

        Each is judged by the ``latest`` decider, since a stream can outlive the policy that it began with. The stream
        ends after the item that exceeds its limits or that a stopping service rejects.
        """
        so_far = _SoFar()
        for index, wire in enumerate(wires):
            so_far.items, so_far.size = index + 1, so_far.size + len(wire)
            if so_far.failed and so_far.stop_on_first:
                decision = latest()._within(wire, index, so_far, caller)  # noqa: SLF001 - another of this class
                yield Item(index, Status.SKIPPED if decision is None else Status.FAILED, decision)
            else:
                decision = latest()._streamed(  # noqa: SLF001 - the same
                    wire, index, so_far, remaining(), stopping=stopping(), caller=caller
                )
                so_far.failed = so_far.failed or decision.code is not None
                yield _item(index, decision)
            if decision is not None and decision.code in _LAST:
                return

    def _within(self, wire: bytes, index: int, so_far: _SoFar, caller: Caller) -> Decision | None:
        """Return the rejection of a message beyond the limits, None for one within them."""
        try:
            so_far.check(self._limits)
        except CodedError as refusal:
            return self._decider.refused(
                RequestContext(StreamItemReader(wire, index), caller=caller), refusal
            )
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
    ) -> Decision:
        reader = StreamItemReader(wire, index)

        def answered() -> Decision:
            so_far.check(self._limits)
            message = reader.item()
            if so_far.items == 1:
                so_far.stop_on_first = message.stop_on_first
            item = ItemReader(message.item, index)
            return self._decider.decide_read(item, remaining=remaining, stopping=stopping, caller=caller)

        return self._decider.guarded(RequestContext(reader, remaining, caller), answered)

    def _judged(self, request: RequestContext, batch: Batch, remaining: float | None) -> list[Item]:
        """Judge every item; a failed one does not affect the others, unless the batch stops there.

        The records of a chunk are written together before any of its verdicts counts: one append per item would cost
        more than everything else.
        """
        items: list[Item] = []
        room = PROGRAM_BYTES
        stopped = False
        while len(items) < len(batch.items) and not stopped:
            chunk = batch.items[len(items) : len(items) + CHUNK]
            for decision in self._decisions(request, chunk, len(items), batch, remaining, room):
                room -= 0 if decision.program is None else len(decision.program.text)
                items.append(_item(len(items), decision))
                if batch.stop_on_first and decision.code is not None:
                    stopped = True
                    break
        items.extend(Item(index, Status.SKIPPED, None) for index in range(len(items), len(batch.items)))
        return items

    def _decisions(  # noqa: PLR0913, PLR0917 - a part of a batch
        self,
        request: RequestContext,
        wires: Sequence[bytes],
        first: int,
        batch: Batch,
        remaining: float | None,
        room: int,
    ) -> Iterator[Decision]:
        """Yield the answers to ``wires``, the items from place ``first`` on, and none behind a denial that ends it.

        An item whose program does not fit into ``room`` bytes is denied.
        """
        unrecorded: list[PendingDecision] = []
        readers = [ItemReader(wire, first + place, batch.session_id) for place, wire in enumerate(wires)]
        if batch.stop_on_first:
            for reader in readers:
                pending = self._decider.decide_unrecorded(
                    reader, remaining=request.left_of(remaining), caller=request.caller
                )
                pending, room = self._within_room(pending, room)
                unrecorded.append(pending)
                if not pending.allows:
                    break
        else:
            for some in _together(readers):
                for judged in self._decider.decide_together(
                    some, remaining=request.left_of(remaining), caller=request.caller
                ):
                    pending, room = self._within_room(judged, room)
                    unrecorded.append(pending)
        audited = self._decider.keep(unrecorded)
        for pending in unrecorded:
            yield self._decider.finish(pending, audited=audited, brief=True)

    def _within_room(self, pending: PendingDecision, room: int) -> tuple[PendingDecision, int]:
        """Return ``pending`` and the room that it leaves; a denial when its program does not fit."""
        program = None if pending.verdict is None else pending.verdict.hardened
        if program is None:
            return pending, room
        if len(program.text) <= room:
            return pending, room - len(program.text)
        refusal = CodedError(
            Code.BATCH_TOO_LARGE,
            f"The hardened programs of a batch have at most {PROGRAM_BYTES} bytes.",
            repair=Repair.passed("program_bytes", PROGRAM_BYTES),
        )
        return self._decider.withdrawn(pending, refusal), room

    def _whole(self, request: RequestContext, items: Sequence[Item]) -> Decision:
        """Answer for the batch: the first failure gives its code, every failed and skipped item is listed."""
        failed = [item.decision for item in items if item.status is Status.FAILED and item.decision]
        first = next((item.place for item in items if item.status is Status.FAILED), 0)
        meta = Meta(
            elapsed_ms=request.elapsed_ms,
            decision_id=request.decision_id,
            provenance=self._provenance,
            audited=all(decision.envelope["_meta"]["audited"] for decision in failed),
            session_id=request.reader.received.session_id or None,
        )
        binding = self._decider.request_binding(request)
        shadow = tuple(
            dict.fromkeys(name for item in items if item.decision for name in item.decision.would_block)
        )
        if not failed:
            return Decision(None, success_envelope({"items": len(items)}, meta=meta), binding, shadow)
        code = failed[0].envelope["code"]
        message = f"{len(failed)} of {len(items)} items may not run; the first: {failed[0].envelope['error']}"
        listed = [_listed(item) for item in items if item.status is not Status.ALLOWED]
        details = {"item_count": len(items), "items": listed}
        envelope = error_envelope(
            code, message, meta=meta, details=details, repair=Repair(field=pointer("items", first))
        )
        return Decision(Code(code), envelope, binding, shadow)


@dataclass(slots=True)
class _SoFar:
    """The progress of a stream."""

    items: int = 0
    size: int = 0
    failed: bool = False
    stop_on_first: bool = False

    def check(self, limits: BatchLimits) -> None:
        check_size(self.items, self.size, max_items=limits.items, max_bytes=limits.bytes)


def _item(index: int, decision: Decision) -> Item:
    return Item(index, Status.ALLOWED if decision.code is None else Status.FAILED, decision)


def _together(readers: Sequence[ItemReader]) -> Iterator[Sequence[ItemReader]]:
    """Yield ``readers`` in order, in groups that are judged together."""
    together: list[ItemReader] = []
    size = 0
    for reader in readers:
        size += len(reader.wire)
        if together and (size > TOGETHER_BYTES or len(together) == TOGETHER_ITEMS):
            yield together
            together, size = [], len(reader.wire)
        together.append(reader)
    yield together


def _listed(item: Item) -> dict[str, Any]:
    listed: dict[str, Any] = {"item_index": item.place, "status": item.status.name.lower()}
    if item.decision is not None:
        listed["code"] = item.decision.code
    return listed
