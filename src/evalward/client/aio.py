"""The asyncio client: it performs the steps of ``call_flow`` over a channel of ``grpc.aio``."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

import grpc
from grpc.aio import EOF  # type: ignore[attr-defined]  # the stubs lack it

from evalward.client.address import CONNECT_SECONDS, Link, Tls, link_of
from evalward.client.call_flow import (
    EVALUATE,
    PREPARE_RUNTIME,
    REPORT_DENIAL,
    VALIDATE,
    VALIDATE_CALL,
    CallFlow,
    Operation,
)
from evalward.client.diagnosis import PROBE_SECONDS, diagnosed
from evalward.client.question import VALIDATE_SECONDS
from evalward.client.steps import Connect, Diagnose, Message, Progress, Step, Steps, Unary
from evalward.client.stream import PATH

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator, Callable, Coroutine, Iterable
    from types import TracebackType

    from evalward.client.batch_decision import BatchDecision, ItemDecision, Payload

P = ParamSpec("P")
T = TypeVar("T")


def _method(
    operation: Operation[P, T],
) -> Callable[Concatenate[AsyncGuardClient, P], Coroutine[Any, Any, T]]:
    """Return the method of AsyncGuardClient for ``operation``."""

    async def call(self: AsyncGuardClient, /, *args: P.args, **rest: P.kwargs) -> T:
        return await self._run(self._flow.operation(operation, *args, **rest))

    operation.describe(call, "AsyncGuardClient")
    return call


class AsyncGuardClient:
    """The asyncio version of ``GuardClient``, with the same parameters; use it only in the loop of its first call.

    A cancelled call raises CancelledError, as everywhere in asyncio, and allows nothing.
    """

    def __init__(  # noqa: PLR0913 - the client's options
        self,
        address: str | Link | None = None,
        *,
        timeout: float = VALIDATE_SECONDS,
        connect_timeout: float = CONNECT_SECONDS,
        policy_digest: str | None = None,
        tls: Tls | None = None,
        token: str | None = None,
        peer_uid: int | None = None,
    ) -> None:
        link = link_of(address, tls=tls, token=token, peer_uid=peer_uid)
        self._flow = CallFlow(link, timeout, connect_timeout, policy_digest)
        self._where = link.address
        self.address = self._where.target
        self._credentials = None if self._where.tls is None else self._where.tls.credentials()
        self._open: grpc.aio.Channel | None = None

    async def ready(self) -> bool:
        """Wait until the channel is connected, at most the connect timeout; false when it is not."""
        return await self._run(self._flow.ready())

    validate = _method(VALIDATE)
    validate_call = _method(VALIDATE_CALL)
    evaluate = _method(EVALUATE)
    report_denial = _method(REPORT_DENIAL)
    prepare_runtime = _method(PREPARE_RUNTIME)

    async def validate_batch(
        self, items: Iterable[Payload], *, stop_on_first: bool = False, session_id: str = ""
    ) -> BatchDecision:
        """Ask as ``GuardClient.validate_batch`` does."""
        return await self._run(self._flow.batch(items, stop_on_first=stop_on_first, session_id=session_id))

    async def validate_stream(
        self,
        items: Iterable[Payload] | AsyncIterable[Payload],
        *,
        stop_on_first: bool = False,
        session_id: str = "",
    ) -> AsyncIterator[ItemDecision]:
        """Ask as ``GuardClient.validate_stream`` does, about ``items`` of either kind."""
        conversation = self._flow.stream(stop_on_first=stop_on_first, session_id=session_id)
        stream = _AsyncStream(self._channel)
        try:
            async for item in _each(items):
                yield await self._run(self._flow.item(conversation, item), stream)
        finally:
            stream.close()

    async def close(self) -> None:
        """Close the channel; every later call is a denial."""
        self._flow.is_closed = True
        if self._open is not None:
            await self._open.close(None)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _channel(self) -> grpc.aio.Channel:
        """Return the channel; gRPC binds it to the loop that runs when it is made."""
        if self._open is None:
            where = self._where
            if self._credentials is None:
                self._open = grpc.aio.insecure_channel(where.target, options=where.options)
            else:
                self._open = grpc.aio.secure_channel(where.target, self._credentials, options=where.options)
        return self._open

    async def _run(self, steps: Steps[T], stream: _AsyncStream | None = None) -> T:
        """Perform ``steps`` and return what they return."""
        progress = Progress(steps)
        while progress.step is not None:
            try:
                result = await self._perform(progress.step, stream)
            except Exception as error:  # noqa: BLE001 - the steps decide what each failure means
                progress.fail(error)
            else:
                progress.succeed(result)
        return progress.result

    async def _perform(self, step: Step, stream: _AsyncStream | None) -> Any:
        """Return the result of ``step``."""
        if isinstance(step, Connect):
            return await self._connect(step.seconds)
        if isinstance(step, Diagnose):
            return await asyncio.wait_for(asyncio.wrap_future(diagnosed(step.where)), PROBE_SECONDS)
        if isinstance(step, Unary):
            call = self._channel().unary_unary(step.path, None, None)(
                step.wire, timeout=step.seconds, metadata=step.metadata
            )
            return await call, await call.trailing_metadata()
        if stream is None:
            raise RuntimeError("a unary call has no stream")
        return await stream.exchange(step)

    async def _connect(self, seconds: float) -> bool:
        try:
            await asyncio.wait_for(self._channel().channel_ready(), seconds)
        except TimeoutError:
            return False
        return True


class _AsyncStream:
    """A gRPC stream of the asyncio client, which the first message opens."""

    def __init__(self, channel: Callable[[], grpc.aio.Channel]) -> None:
        self._channel = channel
        self._call: Any = None

    async def exchange(self, message: Message) -> bytes | None:
        """Send ``message`` and return the next one, None for the end; raise RpcError or TimeoutError."""
        if self._call is None:
            open_stream = self._channel().stream_stream(PATH, None, None)
            self._call = open_stream(None, metadata=message.metadata)
        async with asyncio.timeout(message.seconds):
            await self._call.write(message.wire)
            response: bytes = await self._call.read()
            if response is not EOF:
                return response
            code = await self._call.code()
            if code is grpc.StatusCode.OK:
                return None
            trailing = await self._call.trailing_metadata()
            raise grpc.aio.AioRpcError(code, await self._call.initial_metadata(), trailing, None, None)

    def close(self) -> None:
        """Cancel the call."""
        if self._call is not None:
            self._call.cancel()


async def _each(items: Iterable[Payload] | AsyncIterable[Payload]) -> AsyncIterator[Payload]:
    if hasattr(items, "__aiter__"):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item
