"""The sans-I/O core of both clients: the order of the steps of a call, and the reply or denial that results."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Concatenate, Final, Generic, ParamSpec, TypeVar

from evalward.client.address import digest_or_none, seconds_of
from evalward.client.batch_decision import batch_question, refused
from evalward.client.call_decision import CallDecision
from evalward.client.denied_run import DenialReport
from evalward.client.diagnosis import Reason
from evalward.client.evaluation_reply import EvaluationReply
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
from evalward.client.preparation import Preparation
from evalward.client.question import Question, Questions
from evalward.client.steps import Connect, Diagnose, Message, Steps
from evalward.client.stream import Conversation, late
from evalward.client.unary import UnaryCall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from evalward.client.address import Link
    from evalward.client.batch_decision import BatchDecision, ItemDecision, Payload
    from evalward.client.guard_reply import Decision

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Operation(Generic[P, T]):
    """A unary operation of the clients: ``build`` makes its request, ``deny`` turns a denial into its reply.

    The public signature and docstring of the operation are those of ``build``.
    """

    build: Callable[Concatenate[Questions, P], Question[T]]
    deny: Callable[[Decision], T]

    @cached_property
    def _signature(self) -> inspect.Signature:
        return inspect.signature(self.build)

    def describe(self, method: Any, client: str) -> None:
        """Give ``method`` of the class ``client`` the name, docstring and signature of this operation."""
        method.__name__, method.__doc__ = self.build.__name__, self.build.__doc__
        method.__qualname__ = f"{client}.{method.__name__}"
        signature = self._signature
        reply = str(signature.return_annotation).removeprefix("Question[").removesuffix("]")
        method.__signature__ = signature.replace(return_annotation=reply)

    def bind(self, questions: Questions, *args: P.args, **rest: P.kwargs) -> Callable[[], Question[T]]:
        """Return ``build`` with its arguments; raise TypeError when they do not fit its signature."""
        self._signature.bind(questions, *args, **rest)
        return partial(self.build, questions, *args, **rest)


VALIDATE: Final = Operation(Questions.validate, lambda denial: denial)
VALIDATE_CALL: Final = Operation(Questions.validate_call, CallDecision.denied)
REPORT_DENIAL: Final = Operation(Questions.report_denial, DenialReport.denied)
PREPARE_RUNTIME: Final = Operation(Questions.prepare_runtime, Preparation.denied)
EVALUATE: Final = Operation(Questions.evaluate, EvaluationReply.denied)


class CallFlow:
    """The state of one client, and the steps of its calls. Every failure is a denial.

    Raises TypeError or ValueError for arguments that cannot be used.
    """

    def __init__(self, link: Link, timeout: float, connect_timeout: float, policy_digest: str | None) -> None:
        self.link = link
        self.address = link.address
        self.questions = Questions(
            seconds_of("timeout", timeout), digest_or_none("policy_digest", policy_digest)
        )
        self.is_closed = False
        self._connect_timeout = seconds_of("connect_timeout", connect_timeout)
        self._ready_run: int | None = None

    def ready(self) -> Steps[bool]:
        """Wait until the channel is connected, at most the connect timeout; false when it is not."""
        if self.is_closed:
            return False
        run = self.link.run
        if self._ready_run != run:
            if not (yield Connect(self._connect_timeout)):
                return False
            self._ready_run = run
        return True

    def operation(self, operation: Operation[P, T], *args: P.args, **rest: P.kwargs) -> Steps[T]:
        """Return the steps of ``operation``; raise TypeError for arguments that do not fit its signature."""
        return self._answer(operation.bind(self.questions, *args, **rest), operation.deny)

    def batch(
        self, items: Iterable[Payload], *, stop_on_first: bool, session_id: str
    ) -> Steps[BatchDecision]:
        """Ask about all of ``items`` in one call."""
        try:
            given = [*items]
        except Exception as error:  # noqa: BLE001 - fail closed: what cannot be asked is not allowed
            return refused(0, unbuilt(error))
        build = partial(
            batch_question, self.questions, given, stop_on_first=stop_on_first, session_id=session_id
        )
        return (yield from self._answer(build, partial(refused, len(given))))

    def stream(self, *, stop_on_first: bool, session_id: str) -> Conversation:
        """Return the state of a new stream; ``item`` asks about its payloads."""
        return Conversation(
            self.questions, self.link.address, stop_on_first=stop_on_first, session_id=session_id
        )

    def item(self, stream: Conversation, item: Payload) -> Steps[ItemDecision]:
        """Ask about the next ``item`` of ``stream``."""
        wire = stream.request(item)
        if not isinstance(wire, bytes):
            return wire
        if not stream.is_open:
            if (why := (yield from self._unready())) is not None:
                return stream.ended(why)
            stream.is_open = True
        run = self.link.run
        try:
            response = yield Message(wire, stream.seconds, stream.metadata)
        except TimeoutError:
            return stream.ended(late())
        except Exception as error:  # noqa: BLE001 - fail closed: no failure is a reason to run a payload
            return stream.ended((yield from self._failure(error, run, stream)))
        return stream.decision(response)

    def _answer(self, build: Callable[[], Question[T]], deny: Callable[[Decision], T]) -> Steps[T]:
        """Send the request that ``build`` makes and return its reply, or the denial for its failure."""
        try:
            question = build()
        except Exception as error:  # noqa: BLE001 - fail closed: what cannot be asked is not allowed
            return deny(unbuilt(error))
        run = self.link.run
        if (why := (yield from self._unready())) is not None:
            return deny(why)
        call = UnaryCall(question, self.link.address)
        try:
            response, trailing = yield call.step
            return call.reply(response, trailing)
        except Exception as error:  # noqa: BLE001 - fail closed: no failure is a reason to run a payload
            return deny((yield from self._failure(error, run, call)))

    def _unready(self) -> Steps[Decision | None]:
        """Return why the guard cannot be asked at this moment, None if it can."""
        if self.is_closed:
            return absent(CLOSED)
        where = self.link.address
        try:
            if (absence := self.link.absence()) is not None:
                return absent(absence)
            if where.peer is not None:
                where.peer.check()
        except (OSError, WrongPeer) as error:
            return refused_socket(error, self.address.target)
        return None if (yield from self.ready()) else (yield from self._lost())

    def _failure(self, error: Exception, run: int, call: UnaryCall[Any] | Conversation) -> Steps[Decision]:
        """Return the denial for ``error``, which ended ``call`` to run ``run`` of the guard."""
        if is_from_next_run(error, self.link, run):
            return absent(RESTARTED)
        if call.is_lost(error):
            return (yield from self._lost())
        return call.denial(error)

    def _lost(self) -> Steps[Decision]:
        """Return the denial for a connection that cannot be made or broke."""
        self._ready_run = None
        try:
            reason = yield Diagnose(self.link.address)
        except TimeoutError:
            reason = Reason.NO_ANSWER
        return unreachable(self.address.target, reason)
