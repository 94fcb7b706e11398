"""The client for asyncio: the same questions, the same proofs, and the same way to fail closed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Self, TypeVar

import grpc
from grpc.aio import EOF  # type: ignore[attr-defined]  # the stubs lack it

from evalward.client.address import CONNECT_SECONDS, Link, Tls, digest_or_none, link_of, seconds_of
from evalward.client.batch import BatchDecision, ItemDecision, Payload, batch_question, refused
from evalward.client.call import CallDecision
from evalward.client.diagnosis import PROBE_SECONDS, Reason, diagnosed
from evalward.client.evaluation import EvaluationReply
from evalward.client.exchange import Exchange, path_of
from evalward.client.failure import (
    CLOSED,
    RESTARTED,
    absent,
    is_from_next_run,
    refused_socket,
    unbuilt,
    unreachable,
)
from evalward.client.peer import WrongPeer
from evalward.client.question import VALIDATE_SECONDS, Question, Questions
from evalward.client.stream import PATH, Conversation, late

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator, Callable, Collection, Iterable, Mapping
    from types import TracebackType

    from evalward.client.decision import Decision

T = TypeVar("T")


class AsyncGuardClient:
    """The asyncio twin of ``GuardClient``, with the same parameters; it belongs to the loop of its first call.

    A cancelled call raises CancelledError, as everywhere in asyncio, and has allowed nothing.
    """

    def __init__(  # noqa: PLR0913 - what there is to configure
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
        self._link = link_of(address, tls=tls, token=token, peer_uid=peer_uid)
        self._where = self._link.address
        self.address = self._where.target
        self._credentials = None if self._where.tls is None else self._where.tls.credentials()
        self._questions = Questions(
            seconds_of("timeout", timeout), digest_or_none("policy_digest", policy_digest)
        )
        self._connect_timeout = seconds_of("connect_timeout", connect_timeout)
        self._open: grpc.aio.Channel | None = None
        self._ready_run: int | None = None
        self._is_closed = False

    async def ready(self) -> bool:
        """Wait until the channel is connected, at most the connect timeout; false when it is not."""
        if self._is_closed:
            return False
        run = self._link.run
        if self._ready_run != run:
            try:
                await asyncio.wait_for(self._channel().channel_ready(), self._connect_timeout)
            except TimeoutError:
                return False
            self._ready_run = run
        return True

    async def validate(  # noqa: PLR0913 - one parameter per field of the request
        self,
        code: bytes,
        *,
        target: str | None = None,
        shape: str | None = None,
        sink: str | None = None,
        bindings: Mapping[str, str] | None = None,
        profile: str | None = None,
        limits: Mapping[str, int] | None = None,
        session_id: str = "",
        include_context: bool = False,
    ) -> Decision:
        """Ask as ``GuardClient.validate`` does."""
        return await self._answer(
            lambda: self._questions.validate(
                code,
                target=target,
                shape=shape,
                sink=sink,
                bindings=bindings,
                profile=profile,
                limits=limits,
                session_id=session_id,
                include_context=include_context,
            ),
            lambda denial: denial,
        )

    async def validate_call(  # noqa: PLR0913 - one parameter per field of the request, and what will run
        self,
        tool: str,
        arguments_json: bytes,
        *,
        runs: Collection[str] = (),
        target: str | None = None,
        shape: str | None = None,
        sink: str | None = None,
        profile: str | None = None,
        limits: Mapping[str, int] | None = None,
        session_id: str = "",
        include_context: bool = False,
        judged_fields_only: bool = False,
    ) -> CallDecision:
        """Ask as ``GuardClient.validate_call`` does."""
        return await self._answer(
            lambda: self._questions.validate_call(
                tool,
                arguments_json,
                runs=runs,
                target=target,
                shape=shape,
                sink=sink,
                profile=profile,
                limits=limits,
                session_id=session_id,
                include_context=include_context,
                judged_fields_only=judged_fields_only,
            ),
            CallDecision.denied,
        )

    async def validate_batch(
        self, items: Iterable[Payload], *, stop_on_first: bool = False, session_id: str = ""
    ) -> BatchDecision:
        """Ask as ``GuardClient.validate_batch`` does."""
        try:
            given = [*items]
        except Exception as error:  # noqa: BLE001 - fail closed: what cannot be asked is not allowed
            return refused(0, unbuilt(error))
        return await self._answer(
            lambda: batch_question(
                self._questions, given, stop_on_first=stop_on_first, session_id=session_id
            ),
            lambda denial: refused(len(given), denial),
        )

    async def validate_stream(
        self,
        items: Iterable[Payload] | AsyncIterable[Payload],
        *,
        stop_on_first: bool = False,
        session_id: str = "",
    ) -> AsyncIterator[ItemDecision]:
        """Ask as ``GuardClient.validate_stream`` does, about ``items`` of either kind."""
        try:
            talk = Conversation(
                self._questions, self._link.address, stop_on_first=stop_on_first, session_id=session_id
            )
        except Exception as error:  # noqa: BLE001 - fail closed: what cannot be asked is not allowed
            why, index = unbuilt(error), 0
            async for _ in _each(items):
                yield ItemDecision.of(why, index, "failed")
                index += 1
            return
        call: Any = None
        try:
            async for item in _each(items):
                wire = talk.asked(item)
                if isinstance(wire, ItemDecision):
                    yield wire
                    continue
                if call is None:
                    if (why_not := await self._unready()) is not None:
                        yield talk.ended(why_not)
                        continue
                    call = self._channel().stream_stream(PATH, None, None)(None, metadata=talk.metadata)
                yield await self._next(talk, call, wire)
        finally:
            if call is not None:
                call.cancel()

    async def evaluate(  # noqa: PLR0913 - one parameter per field of the request
        self,
        code: bytes,
        *,
        arg_json: bytes | None = None,
        shape: str | None = None,
        profile: str | None = None,
        limits: Mapping[str, int] | None = None,
        guard_limits: Mapping[str, int] | None = None,
        seed: int | None = None,
        session_id: str = "",
    ) -> EvaluationReply:
        """Ask as ``GuardClient.evaluate`` does."""
        return await self._answer(
            lambda: self._questions.evaluate(
                code,
                arg_json=arg_json,
                shape=shape,
                profile=profile,
                limits=limits,
                guard_limits=guard_limits,
                seed=seed,
                session_id=session_id,
            ),
            EvaluationReply.denied,
        )

    async def close(self) -> None:
        """Close the channel; every later call is a denial."""
        self._is_closed = True
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

    async def _answer(self, build: Callable[[], Question[T]], deny: Callable[[Decision], T]) -> T:
        """Return the reply to the question that ``build`` makes, or the denial that its failure is."""
        try:
            question = build()
        except Exception as error:  # noqa: BLE001 - fail closed: what cannot be asked is not allowed
            return deny(unbuilt(error))
        run = self._link.run
        if (why := await self._unready()) is not None:
            return deny(why)
        exchange = Exchange(question, self._link.address)
        try:
            call = self._channel().unary_unary(path_of(exchange.method), None, None)(
                exchange.wire, timeout=exchange.seconds, metadata=exchange.metadata
            )
            response = await call
            return exchange.reply(response, await call.trailing_metadata())
        except Exception as error:  # noqa: BLE001 - fail closed: no failure is a reason to run a payload
            if is_from_next_run(error, self._link, run):
                return deny(absent(RESTARTED))
            if exchange.is_lost(error):
                return deny(await self._lost())
            return deny(exchange.denial(error))

    async def _unready(self) -> Decision | None:
        """Return why the guard cannot be asked at this moment, None if it can."""
        if self._is_closed:
            return absent(CLOSED)
        where = self._link.address
        try:
            if (absence := self._link.absence()) is not None:
                return absent(absence)
            if where.peer is not None:
                where.peer.check()
        except (OSError, WrongPeer) as error:
            return refused_socket(error, self.address)
        return None if await self.ready() else await self._lost()

    async def _lost(self) -> Decision:
        """Return the denial for a connection that is not there, or not any more."""
        self._ready_run = None
        found = asyncio.wrap_future(diagnosed(self._link.address))
        try:
            reason = await asyncio.wait_for(found, PROBE_SECONDS)
        except TimeoutError:
            reason = Reason.NO_ANSWER
        return unreachable(self.address, reason)

    async def _next(self, talk: Conversation, call: Any, wire: bytes) -> ItemDecision:
        """Send ``wire`` and return what comes back for it."""
        run = self._link.run
        try:
            async with asyncio.timeout(talk.seconds):
                response = await _exchanged(call, wire)
        except TimeoutError:
            return talk.ended(late())
        except Exception as error:  # noqa: BLE001 - fail closed: no failure is a reason to run a payload
            if is_from_next_run(error, self._link, run):
                return talk.ended(absent(RESTARTED))
            return talk.ended(await self._lost() if talk.is_lost(error) else talk.failure(error))
        return talk.answered(response)


async def _exchanged(call: Any, wire: bytes) -> bytes | None:
    """Send ``wire`` and return the next message, None for the end; raise RpcError for a status."""
    await call.write(wire)
    response: bytes = await call.read()
    if response is not EOF:
        return response
    code = await call.code()
    if code is grpc.StatusCode.OK:
        return None
    raise grpc.aio.AioRpcError(
        code, await call.initial_metadata(), await call.trailing_metadata(), None, None
    )


async def _each(items: Iterable[Payload] | AsyncIterable[Payload]) -> AsyncIterator[Payload]:
    if hasattr(items, "__aiter__"):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item
