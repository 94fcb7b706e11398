"""The synchronous client, which fails closed: no answer, and no lack of one, allows by default."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self, TypeVar

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

HEALTH_CHECK: Final = "/grpc.health.v1.Health/Check"
ABSENT: Final = frozenset({grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED})


class GuardClient:
    """A client of one service at ``HOST:PORT``, ``tls:HOST:PORT`` or ``unix:PATH``.

    The address defaults to EVALWARD_ADDRESS, then to 127.0.0.1:7443. Beyond loopback it needs TLS.

    ``connect_timeout`` and ``timeout`` are in seconds and count separately: the first for a channel that is
    not ready, the second for each call on one that is, beside the run of an ``evaluate``. With
    ``policy_digest`` only verdicts under that policy count; ``token`` goes with every call. Safe to share
    between threads; close it, or use it as a context manager.

    Raises ValueError for an address or a token that cannot be used, OSError for a file of ``tls``.
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
        where = self._link.address
        self.address = where.target
        self._questions = Questions(timeout, policy_digest)
        self._connect_timeout = connect_timeout
        if where.tls is None:
            self._channel = grpc.insecure_channel(where.target, options=where.options)
        else:
            self._channel = grpc.secure_channel(where.target, where.tls.credentials(), options=where.options)
        self._stub = GuardServiceStub(self._channel)
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
        target: str,
        shape: str | None = None,
        bindings: Mapping[str, str] | None = None,
        profile: str | None = None,
        session_id: str = "",
    ) -> Decision:
        """Ask whether ``target`` may run ``code`` in ``shape``; whatever goes wrong is a denial."""
        return self._answer(
            lambda: self._questions.validate(
                code, target=target, shape=shape, bindings=bindings, profile=profile, session_id=session_id
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
        profile: str | None = None,
        session_id: str = "",
    ) -> CallDecision:
        """Ask whether ``tool`` may be called with ``arguments_json``; whatever goes wrong is a denial.

        ``runs`` are the JSON Pointers of the fields that the caller will evaluate, ``target`` and ``shape``
        where and how it will: a verdict that leaves one of them out, or is about another, is a denial too.
        """
        return self._answer(
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

    def evaluate(  # noqa: PLR0913 - one parameter per field of the request
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
        """Have ``code`` judged for the sandbox and run there; whatever goes wrong is a reply without result.

        ``arg_json`` is the argument as JSON text; ``limits`` are those of EvaluateLimits, and may only be
        smaller than the server's.
        """
        return self._answer(
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
        try:
            if (absence := self._link.absence()) is not None:
                return deny(unreachable(absence))
            if not self.ready():
                return deny(unreachable(f"The guard at {self.address} cannot be reached."))
            call = getattr(self._stub, question.method)
            response = call(question.request, timeout=question.seconds, metadata=self._link.address.metadata)
            return question.read(response)
        except Exception as error:  # noqa: BLE001 - fail closed: no failure is a reason to run a payload
            if is_unavailable(error):
                self._ready_run = None
            return deny(unreachable(RESTARTED) if is_from_next_run(error, self._link, run) else failed(error))
