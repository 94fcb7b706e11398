"""The synchronous client: it performs the steps of ``call_flow`` over a gRPC channel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, Self, TypeVar

import grpc

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
from evalward.client.steps import Connect, Diagnose, Progress, Step, Steps, Unary
from evalward.client.sync_stream import SyncStream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import TracebackType

    from evalward.client.batch_decision import BatchDecision, ItemDecision, Payload

P = ParamSpec("P")
T = TypeVar("T")

HEALTH_CHECK: Final = "/grpc.health.v1.Health/Check"
ABSENT: Final = frozenset({grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED})


def _method(operation: Operation[P, T]) -> Callable[Concatenate[GuardClient, P], T]:
    """Return the method of GuardClient for ``operation``."""

    def call(self: GuardClient, /, *args: P.args, **rest: P.kwargs) -> T:
        return self._run(self._flow.operation(operation, *args, **rest))

    operation.describe(call, "GuardClient")
    return call


class GuardClient:
    """A client of one service at ``HOST:PORT``, ``tls:HOST:PORT`` or ``unix:PATH``.

    The address defaults to EVALWARD_ADDRESS, then to 127.0.0.1:7443. An address that is not loopback needs TLS.

    ``connect_timeout`` and ``timeout`` are in seconds and are separate: the first applies while the channel is
    not connected, the second to each call on a connected channel; the run of an ``evaluate`` gets extra time. With
    ``policy_digest`` only verdicts under that policy count. ``token`` is sent with every call over TLS or a Unix
    socket. Over plain TCP it is never sent: it signs each call, and a reply counts only if it is signed, too.
    With ``peer_uid`` a Unix socket must belong to that user. The client is thread-safe; close it, or use it as a
    context manager.

    The constructor raises ValueError or TypeError for an argument that cannot be used, and OSError for a file
    of ``tls``. A call returns a denial for every failure; it raises only for arguments that do not fit its signature.
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
        where = link.address
        self.address = where.target
        if where.tls is None:
            self._channel = grpc.insecure_channel(where.target, options=where.options)
        else:
            self._channel = grpc.secure_channel(where.target, where.tls.credentials(), options=where.options)
        self._health = self._channel.unary_unary(HEALTH_CHECK, bytes, bytes)

    def ready(self) -> bool:
        """Wait until the channel is connected, at most the connect timeout; false when it is not."""
        return self._run(self._flow.ready())

    validate = _method(VALIDATE)
    validate_call = _method(VALIDATE_CALL)
    evaluate = _method(EVALUATE)
    report_denial = _method(REPORT_DENIAL)
    prepare_runtime = _method(PREPARE_RUNTIME)

    def validate_batch(
        self, items: Iterable[Payload], *, stop_on_first: bool = False, session_id: str = ""
    ) -> BatchDecision:
        """Ask whether each of ``items`` may run; any failure denies the items that it affects.

        With ``stop_on_first`` the payloads after the first failure are skipped, and so denied.
        """
        return self._run(self._flow.batch(items, stop_on_first=stop_on_first, session_id=session_id))

    def validate_stream(
        self, items: Iterable[Payload], *, stop_on_first: bool = False, session_id: str = ""
    ) -> Iterator[ItemDecision]:
        """Ask about each of ``items`` in turn and yield its decision before the next is taken.

        A failure of the stream denies that payload and all after it. Close the iterator to end the stream early.
        """
        conversation = self._flow.stream(stop_on_first=stop_on_first, session_id=session_id)
        stream = SyncStream(self._channel)
        try:
            for item in items:
                yield self._run(self._flow.item(conversation, item), stream)
        finally:
            stream.close()

    def close(self) -> None:
        """Close the channel; every later call is a denial."""
        self._flow.is_closed = True
        self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self, steps: Steps[T], stream: SyncStream | None = None) -> T:
        """Perform ``steps`` and return what they return."""
        progress = Progress(steps)
        while progress.step is not None:
            try:
                result = self._perform(progress.step, stream)
            except Exception as error:  # noqa: BLE001 - the steps decide what each failure means
                progress.fail(error)
            else:
                progress.succeed(result)
        return progress.result

    def _perform(self, step: Step, stream: SyncStream | None) -> Any:
        """Return the result of ``step``."""
        if isinstance(step, Connect):
            return self._connect(step.seconds)
        if isinstance(step, Diagnose):
            return diagnosed(step.where).result(PROBE_SECONDS)
        if isinstance(step, Unary):
            call = self._channel.unary_unary(step.path, None, None)
            response, ended = call.with_call(step.wire, timeout=step.seconds, metadata=step.metadata)
            return response, ended.trailing_metadata()
        if stream is None:
            raise RuntimeError("a unary call has no stream")
        return stream.exchange(step)

    def _connect(self, seconds: float) -> bool:
        # Any answer to a call that waits for the connection proves that there is one. gRPC's own future leaves a
        # thread behind that raises when the channel is closed soon after.
        try:
            self._health(b"", timeout=seconds, wait_for_ready=True)
        except grpc.RpcError as failure:
            return failure.code() not in ABSENT
        return True
