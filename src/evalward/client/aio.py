"""The client for asyncio: the same questions, the same proofs, and the same way to fail closed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self, TypeVar

import grpc

from evalward.client.address import CONNECT_SECONDS, Link, Tls, address_of
from evalward.client.call import CallDecision
from evalward.client.evaluation import EvaluationReply
from evalward.client.failure import RESTARTED, failed, is_from_next_run, is_unavailable, unbuilt, unreachable
from evalward.client.question import VALIDATE_SECONDS, Question, Questions
from evalward.v1.evalward_pb2_grpc import GuardServiceStub

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
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
    ) -> None:
        self._link = (
            address_of(address, tls=tls, token=token)
            if address is None or isinstance(address, str)
            else address
        )
        self._where = self._link.address
        self.address = self._where.target
        self._credentials = None if self._where.tls is None else self._where.tls.credentials()
        self._questions = Questions(timeout, policy_digest)
        self._connect_timeout = connect_timeout
        self._open: tuple[grpc.aio.Channel, GuardServiceStub] | None = None
        self._ready_run: int | None = None
        self._is_closed = False

    async def ready(self) -> bool:
        """Wait until the channel is connected, at most the connect timeout; false when it is not."""
        if self._is_closed:
            return False
        run = self._link.run
        if self._ready_run != run:
            channel, _ = self._connection()
            try:
                await asyncio.wait_for(channel.channel_ready(), self._connect_timeout)
            except TimeoutError:
                return False
            self._ready_run = run
        return True

    async def validate(  # noqa: PLR0913 - one parameter per field of the request
        self,
        code: bytes,
        *,
        target: str,
        shape: str | None = None,
        bindings: Mapping[str, str] | None = None,
        profile: str | None = None,
        session_id: str = "",
    ) -> Decision:
        """Ask as ``GuardClient.validate`` does."""
        return await self._answer(
            lambda: self._questions.validate(
                code, target=target, shape=shape, bindings=bindings, profile=profile, session_id=session_id
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
        profile: str | None = None,
        session_id: str = "",
    ) -> CallDecision:
        """Ask as ``GuardClient.validate_call`` does."""
        return await self._answer(
            lambda: self._questions.validate_call(
                tool,
                arguments_json,
                runs=runs,
                target=target,
                shape=shape,
                profile=profile,
                session_id=session_id,
            ),
            CallDecision.denied,
        )

    async def evaluate(  # noqa: PLR0913 - one parameter per field of the request
        self,
        code: bytes,
        *,
        arg_json: bytes | None = None,
        shape: str | None = None,
        profile: str | None = None,
        limits: Mapping[str, int] | None = None,
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
                seed=seed,
                session_id=session_id,
            ),
            EvaluationReply.denied,
        )

    async def close(self) -> None:
        """Close the channel; every later call is a denial."""
        self._is_closed = True
        if self._open is not None:
            await self._open[0].close(None)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _connection(self) -> tuple[grpc.aio.Channel, GuardServiceStub]:
        """Return the channel and its stub; gRPC binds a channel to the loop that runs when it is made."""
        if self._open is None:
            where = self._where
            if self._credentials is None:
                channel = grpc.aio.insecure_channel(where.target, options=where.options)
            else:
                channel = grpc.aio.secure_channel(where.target, self._credentials, options=where.options)
            self._open = channel, GuardServiceStub(channel)
        return self._open

    async def _answer(self, build: Callable[[], Question[T]], deny: Callable[[Decision], T]) -> T:
        """Return the reply to the question that ``build`` makes, or the denial that its failure is."""
        try:
            question = build()
        except Exception as error:  # noqa: BLE001 - fail closed: what cannot be asked is not allowed
            return deny(unbuilt(error))
        run = self._link.run
        try:
            if (absence := self._link.absence()) is not None:
                return deny(unreachable(absence))
            if not await self.ready():
                return deny(unreachable(f"The guard at {self.address} cannot be reached."))
            call = getattr(self._connection()[1], question.method)
            response = await call(
                question.request, timeout=question.seconds, metadata=self._link.address.metadata
            )
            return question.read(response)
        except Exception as error:  # noqa: BLE001 - fail closed: no failure is a reason to run a payload
            if is_unavailable(error):
                self._ready_run = None
            return deny(unreachable(RESTARTED) if is_from_next_run(error, self._link, run) else failed(error))
