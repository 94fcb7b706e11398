"""The synchronous client, which fails closed: no answer, and no lack of one, allows by default."""

from __future__ import annotations

from concurrent.futures import TimeoutError as FutureTimeoutError
from queue import Empty
from typing import TYPE_CHECKING, Final, Self, TypeVar

import grpc

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
from evalward.client.lane import Lane
from evalward.client.peer import WrongPeer
from evalward.client.question import VALIDATE_SECONDS, Question, Questions
from evalward.client.stream import Conversation, late

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from types import TracebackType

    from evalward.client.decision import Decision

T = TypeVar("T")

HEALTH_CHECK: Final = "/grpc.health.v1.Health/Check"
ABSENT: Final = frozenset({grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED})


class GuardClient:
    """A client of one service at ``HOST:PORT``, ``tls:HOST:PORT`` or ``unix:PATH``.

    The address defaults to EVALWARD_ADDRESS, then to 127.0.0.1:7443. Beyond loopback it needs TLS.

    ``connect_timeout`` and ``timeout`` are in seconds and count separately: the first for a channel that is
    not ready, the second for each call on one that is, beside the run of an ``evaluate``. With
    ``policy_digest`` only verdicts under that policy count. ``token`` goes with every call over TLS or a Unix
    socket; over plain TCP it does not leave this process: each call is signed with it, and an answer counts
    only if it is, too. With ``peer_uid`` a Unix socket must be that user's. Safe to share between threads;
    close it, or use it as a context manager.

    The constructor raises ValueError or TypeError for an argument that cannot be used, and OSError for a file
    of ``tls``. A call raises for nothing that happens: whatever goes wrong is a denial.
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
        where = self._link.address
        self.address = where.target
        self._questions = Questions(
            seconds_of("timeout", timeout), digest_or_none("policy_digest", policy_digest)
        )
        self._connect_timeout = seconds_of("connect_timeout", connect_timeout)
        if where.tls is None:
            self._channel = grpc.insecure_channel(where.target, options=where.options)
        else:
            self._channel = grpc.secure_channel(where.target, where.tls.credentials(), options=where.options)
        self._health = self._channel.unary_unary(HEALTH_CHECK, bytes, bytes)
        self._ready_run: int | None = None
        self._is_closed = False

    def ready(self) -> bool:
        """Wait until the channel is connected, at most the connect timeout; false when it is not."""
        if self._is_closed:
            return False
        run = self._link.run
        if self._ready_run != run:
            # Any answer to a call that waits for the connection shows that there is one. gRPC's own future leaves
            # a thread behind that raises when the channel is closed soon after.
            try:
                self._health(b"", timeout=self._connect_timeout, wait_for_ready=True)
            except grpc.RpcError as failure:
                if failure.code() in ABSENT:
                    return False
            self._ready_run = run
        return True

    def validate(  # noqa: PLR0913 - one parameter per field of the request
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
        """Ask whether ``sink``, or ``target`` in ``shape``, may run ``code``; whatever goes wrong is a denial.

        ``limits`` are those of Limits, and may only be smaller than the policy's. With ``include_context`` a denial
        has the source lines around each finding.
        """
        return self._answer(
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

    def validate_call(  # noqa: PLR0913 - one parameter per field of the request, and what the caller will run
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
        """Ask whether ``tool`` may be called with ``arguments_json``; whatever goes wrong is a denial.

        ``runs`` are the JSON Pointers of the fields that the caller will evaluate, ``target``, ``shape``
        and ``sink`` where and how it will: a verdict that leaves one of them out, or is about another, is a denial too.
        ``judged_fields_only`` says that the arguments lack what need not be judged, as a required field.
        """
        return self._answer(
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

    def validate_batch(
        self, items: Iterable[Payload], *, stop_on_first: bool = False, session_id: str = ""
    ) -> BatchDecision:
        """Ask whether each of ``items`` may run; whatever goes wrong is a denial of what it concerns.

        With ``stop_on_first`` the payloads behind the first failure are skipped, which denies them.
        """
        try:
            given = [*items]
        except Exception as error:  # noqa: BLE001 - fail closed: what cannot be asked is not allowed
            return refused(0, unbuilt(error))
        return self._answer(
            lambda: batch_question(
                self._questions, given, stop_on_first=stop_on_first, session_id=session_id
            ),
            lambda denial: refused(len(given), denial),
        )

    def validate_stream(
        self, items: Iterable[Payload], *, stop_on_first: bool = False, session_id: str = ""
    ) -> Iterator[ItemDecision]:
        """Ask about each of ``items`` in turn and yield its decision before the next is taken.

        What breaks the stream denies that payload and all behind it. Close the iterator to end the stream early.
        """
        try:
            talk = Conversation(
                self._questions, self._link.address, stop_on_first=stop_on_first, session_id=session_id
            )
        except Exception as error:  # noqa: BLE001 - fail closed: what cannot be asked is not allowed
            why = unbuilt(error)
            yield from (ItemDecision.of(why, index, "failed") for index, _ in enumerate(items))
            return
        lane: Lane | None = None
        try:
            for item in items:
                wire = talk.asked(item)
                if isinstance(wire, ItemDecision):
                    yield wire
                    continue
                if lane is None:
                    if (why_not := self._unready()) is not None:
                        yield talk.ended(why_not)
                        continue
                    lane = Lane(self._channel, talk.metadata)
                yield self._next(talk, lane, wire)
        finally:
            if lane is not None:
                lane.close()

    def evaluate(  # noqa: PLR0913 - one parameter per field of the request
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
        """Have ``code`` judged for the sandbox and run there; whatever goes wrong is a reply without result.

        ``arg_json`` is the argument as JSON text; ``limits`` are those of EvaluateLimits, and may only be
        smaller than the server's; ``guard_limits`` are those of Limits.
        """
        return self._answer(
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

    def close(self) -> None:
        """Close the channel; every later call is a denial."""
        self._is_closed = True
        self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _answer(self, build: Callable[[], Question[T]], deny: Callable[[Decision], T]) -> T:
        """Return the reply to the question that ``build`` makes, or the denial that its failure is."""
        try:
            question = build()
        except Exception as error:  # noqa: BLE001 - fail closed: what cannot be asked is not allowed
            return deny(unbuilt(error))
        run = self._link.run
        if (why := self._unready()) is not None:
            return deny(why)
        exchange = Exchange(question, self._link.address)
        try:
            call = self._channel.unary_unary(path_of(exchange.method), None, None)
            response, ended = call.with_call(
                exchange.wire, timeout=exchange.seconds, metadata=exchange.metadata
            )
            return exchange.reply(response, ended.trailing_metadata())
        except Exception as error:  # noqa: BLE001 - fail closed: no failure is a reason to run a payload
            if is_from_next_run(error, self._link, run):
                return deny(absent(RESTARTED))
            if exchange.is_lost(error):
                return deny(self._lost())
            return deny(exchange.denial(error))

    def _unready(self) -> Decision | None:
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
        return None if self.ready() else self._lost()

    def _lost(self) -> Decision:
        """Return the denial for a connection that is not there, or not any more."""
        self._ready_run = None
        try:
            reason = diagnosed(self._link.address).result(PROBE_SECONDS)
        except FutureTimeoutError:
            reason = Reason.NO_ANSWER
        return unreachable(self.address, reason)

    def _next(self, talk: Conversation, lane: Lane, wire: bytes) -> ItemDecision:
        """Send ``wire`` and return what comes back for it."""
        run = self._link.run
        try:
            return talk.answered(lane.exchanged(wire, talk.seconds))
        except Empty:
            return talk.ended(late())
        except Exception as error:  # noqa: BLE001 - fail closed: no failure is a reason to run a payload
            if is_from_next_run(error, self._link, run):
                return talk.ended(absent(RESTARTED))
            return talk.ended(self._lost() if talk.is_lost(error) else talk.failure(error))
