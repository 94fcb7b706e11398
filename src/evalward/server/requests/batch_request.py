"""Decode batches and streams: each item stays as bytes and is decoded by itself.

A message with ``repeated bytes`` reads the same wire format as one with ``repeated ValidateRequest``. Each item is then
decoded like a single request, and an item that does not decode fails alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from evalward.errors import Code, CodedError, Repair
from evalward.server.requests.validate_request import Received, RequestReader
from evalward.v1 import evalward_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Sequence

    from google.protobuf.message import Message


class Batch(NamedTuple):
    """The undecoded items of a batch."""

    items: Sequence[bytes]
    stop_on_first: bool
    session_id: str


class ItemReader(RequestReader):
    """The ``item_index``-th ValidateRequest of many, in the common session of a batch (None: its own, in a stream).

    A batch has no programs that the policy only offers: they are larger than all of its payloads.
    """

    __slots__ = ("item_index", "session_id", "takes_offers")

    def __init__(self, wire: bytes, item_index: int, session_id: str | None = None) -> None:
        super().__init__(wire)
        self.takes_offers = session_id is None
        self.item_index = item_index
        self.session_id = session_id
        if session_id:
            self.received = self.received._replace(session_id=session_id)

    def receive(self, known: Received, *, session_id: str, request_id: str) -> None:
        """Keep what is ``known``, under the batch's session."""
        if self.session_id is not None:
            session_id = self.session_id
        super().receive(known, session_id=session_id, request_id=request_id)


class BatchReader(RequestReader):
    """A ValidateBatchRequest during reading; ``count`` is the number of its items once it is known."""

    __slots__ = ("count",)

    def __init__(self, wire: bytes) -> None:
        super().__init__(wire)
        self.received = Received(arguments=b"")
        self.count = 0

    def batch(self, *, max_items: int, max_bytes: int) -> Batch:
        """Read the batch; raise CodedError, BATCH_TOO_LARGE for a batch beyond its limits."""
        message: Any = self.message(_BATCH)
        self.count = len(message.items)
        self.receive(
            Received(arguments=b"", items=self.count),
            session_id=message.session_id,
            request_id=message.request_id,
        )
        if not message.items:
            raise CodedError(Code.MISSING_FIELD, "The batch has no items.", repair=Repair.missing("/items"))
        check_size(len(message.items), sum(map(len, message.items)), max_items=max_items, max_bytes=max_bytes)
        return Batch(message.items, message.stop_on_first, self.received.session_id)


class StreamItem(NamedTuple):
    """One message of a stream."""

    item: bytes
    stop_on_first: bool


class StreamItemReader(RequestReader):
    """The ``item_index``-th ValidateStreamRequest during reading."""

    __slots__ = ("item_index",)

    def __init__(self, wire: bytes, item_index: int) -> None:
        super().__init__(wire)
        self.item_index = item_index
        self.received = Received(arguments=b"")

    def item(self) -> StreamItem:
        """Read the message; raise CodedError when it does not decode."""
        message: Any = self.message(_STREAM)
        return StreamItem(message.item, message.stop_on_first)


def check_size(items: int, size: int, *, max_items: int, max_bytes: int) -> None:
    """Raise CodedError (BATCH_TOO_LARGE) for more items or bytes than a batch or a stream may have."""
    for name, actual, allowed in (("batch_items", items, max_items), ("batch_bytes", size, max_bytes)):
        if actual > allowed:
            raise CodedError(
                Code.BATCH_TOO_LARGE,
                f"The batch exceeds the limit {name} of {allowed}.",
                details={"item_count": items},
                repair=Repair.passed(name, allowed, field="/items", actual=actual),
            )


def _twin(message: type[Message], field: str) -> type[Message]:
    """Return a message type with the wire of ``message``, in which ``field`` is bytes instead of a message."""
    described = descriptor_pb2.DescriptorProto()
    message.DESCRIPTOR.CopyToProto(described)
    for each in described.field:
        if each.name == field:
            each.type = descriptor_pb2.FieldDescriptorProto.TYPE_BYTES
            each.ClearField("type_name")
    name = f"{message.DESCRIPTOR.name}.proto"
    file = descriptor_pb2.FileDescriptorProto(
        name=name, package=message.DESCRIPTOR.file.package, syntax="proto3", message_type=[described]
    )
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(message.DESCRIPTOR.full_name))


_BATCH = _twin(pb.ValidateBatchRequest, "items")
_STREAM = _twin(pb.ValidateStreamRequest, "item")
