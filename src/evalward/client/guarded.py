"""The enforcement point: a sink that runs exactly the judged bytes (contract.md §7)."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, TypeVar, overload

from evalward.client.aio import AsyncGuardClient
from evalward.client.denied_run import construct_in_error, construct_in_result, denied_run
from evalward.client.guard_reply import Decision, denial
from evalward.errors import Code

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from evalward.client.denied_run import DenialReport
    from evalward.client.prepare import Prepared
    from evalward.client.sync import GuardClient
    from evalward.client.triage import Triage

P = ParamSpec("P")
R = TypeVar("R")

MARK: Final = "__evalward_guarded__"


class EvalDenied(Exception):  # noqa: N818 - a denial is a regular answer
    """The payload is denied and did not run. ``envelope`` says why; the text contains only code and decision id."""

    def __init__(self, decision: Decision) -> None:
        super().__init__(
            f"Evalward denied the payload ({decision.code}, decision {decision.decision_id or 'none'})"
        )
        self.decision = decision
        self.envelope = decision.envelope


class SinkFailed(Exception):  # noqa: N818 - the sink's failure, not the guard's
    """The sink of an allowed payload raised ``failure``, whose text may quote the payload; this text does not."""

    def __init__(self, failure: Exception) -> None:
        super().__init__(f"The sink raised {type(failure).__name__}")
        self.failure = failure


@overload
def guarded(
    eval_fn: Callable[Concatenate[str, P], Coroutine[Any, Any, R]],
    guard: AsyncGuardClient,
    *,
    sink: str | None = None,
    target: str | None = None,
    shape: str | None = None,
    bindings: Mapping[str, str] | None = None,
    profile: str | None = None,
    wrap: bool = False,
    harden: bool | None = None,
    prepared: Prepared | None = None,
    triage: Triage | None = None,
) -> Callable[Concatenate[str | bytes, P], Coroutine[Any, Any, R]]: ...


@overload
def guarded(
    eval_fn: Callable[Concatenate[str, P], R],
    guard: GuardClient,
    *,
    sink: str | None = None,
    target: str | None = None,
    shape: str | None = None,
    bindings: Mapping[str, str] | None = None,
    profile: str | None = None,
    wrap: bool = False,
    harden: bool | None = None,
    prepared: Prepared | None = None,
    triage: Triage | None = None,
) -> Callable[Concatenate[str | bytes, P], R]: ...


def guarded(  # noqa: PLR0913 - what a sink is
    eval_fn: Callable[..., Any],
    guard: GuardClient | AsyncGuardClient,
    *,
    sink: str | None = None,
    target: str | None = None,
    shape: str | None = None,
    bindings: Mapping[str, str] | None = None,
    profile: str | None = None,
    wrap: bool = False,
    harden: bool | None = None,
    prepared: Prepared | None = None,
    triage: Triage | None = None,
) -> Callable[..., Any]:
    """Return ``eval_fn`` guarded: it is called only with the text of an allowed payload, or with its hardened program.

    ``sink`` names what ``eval_fn(text, …)`` does with the text, such as ``playwright.evaluate`` (``evalward sinks``
    lists them); ``bindings`` are additional names that it binds. For a sink that is not in that list, ``target`` says
    where the text is evaluated, and ``shape`` which wrapper ``eval_fn`` puts around it; with ``wrap``, ``eval_fn`` adds
    no wrapper and gets the payload inside the wrapper of ``shape``. Without a sink, a missing target or shape raises
    TypeError. ``profile`` must be at least as strict as the policy's; an ALLOW under the profile ``seed`` counts only
    if ``profile`` is ``seed``. A coroutine function needs an AsyncGuardClient, any other function a GuardClient;
    another combination raises TypeError. ``harden``: the hardened program runs where the policy offers one (None),
    always (True: a payload without one is denied), or never (False, which a policy may refuse). ``prepared``, which
    ``prepare`` returns, makes programs that run in that page alone. ``triage`` stores denied payloads.

    The result takes ``(code, …)``, text or UTF-8. It raises EvalDenied for a denied payload, also for a program that is
    denied something while it runs (EVAL_DENIED_AT_RUN_TIME, which is reported to the guard), and SinkFailed for another
    exception of ``eval_fn``; their texts contain no payload. A sink that reports the payload's own error returns it as
    data.
    """
    is_async = inspect.iscoroutinefunction(eval_fn)
    if is_async is not isinstance(guard, AsyncGuardClient):
        raise TypeError("a coroutine function needs an AsyncGuardClient, any other sink a GuardClient")
    before, behind = _pasted(sink, target, shape, wrap=wrap)
    entry = _Entry(before, behind, triage)
    ask = functools.partial(
        guard.validate,
        target=target,
        shape=shape,
        sink=sink,
        bindings=bindings,
        profile=profile,
        harden=harden,
        prepared="" if prepared is None else prepared.key,
    )

    def sync_sink(code: str | bytes, *args: Any, **rest: Any) -> Any:
        payload = _payload(code)
        decision: Decision = ask(payload)  # type: ignore[assignment]  # a GuardClient returns no coroutine
        text = entry.text(payload, decision)
        run = _Run(decision)
        try:
            run.returned(eval_fn(text, *args, **rest))
        except Exception as error:  # noqa: BLE001 - its text may quote the payload
            run.raised(error)
        # Outside the handler: an exception raised inside it would have the first one as its context.
        if run.construct is not None:
            report: DenialReport = guard.report_denial(decision.decision_id, run.construct)  # type: ignore[assignment]  # as above
            raise entry.denied(payload, denied_run(decision, run.construct, is_reported=report.recorded))
        return run.result()

    async def async_sink(code: str | bytes, *args: Any, **rest: Any) -> Any:
        payload = _payload(code)
        decision: Decision = await _awaited(ask(payload))
        text = entry.text(payload, decision)
        run = _Run(decision)
        try:
            run.returned(await eval_fn(text, *args, **rest))
        except Exception as error:  # noqa: BLE001 - its text may quote the payload
            run.raised(error)
        if run.construct is not None:
            report = await _awaited(guard.report_denial(decision.decision_id, run.construct))
            raise entry.denied(payload, denied_run(decision, run.construct, is_reported=report.recorded))
        return run.result()

    made = async_sink if is_async else sync_sink
    setattr(made, MARK, True)
    return made


def is_guarded(function: object) -> bool:
    """Return whether ``function`` is a sink that ``guarded`` made."""
    return getattr(function, MARK, False) is True


class _Entry:
    """What a payload has to pass: it becomes the text for the sink, or is denied and stored for triage."""

    def __init__(self, before: str, behind: str, triage: Triage | None) -> None:
        self._before = before
        self._behind = behind
        self._triage = triage

    def text(self, payload: bytes, decision: Decision) -> str:
        """Return the text to evaluate; raise EvalDenied."""
        if decision.allowed is not True:
            raise self.denied(payload, decision)
        try:
            text = payload.decode() if decision.hardened is None else decision.hardened.decode("ascii")
        except UnicodeDecodeError:
            refusal = denial(Code.EVAL_BAD_ENCODING, "The payload is not UTF-8.")
        else:
            return f"{self._before}{text}{self._behind}"
        raise EvalDenied(refusal)

    def denied(self, payload: bytes, decision: Decision) -> EvalDenied:
        """Return the exception for a denied payload."""
        if self._triage is not None:
            self._triage.keep(payload, decision)
        return EvalDenied(decision)


class _Run:
    """How a sink ended: its result or exception, and the ``construct`` that its program was denied, if it was."""

    def __init__(self, decision: Decision) -> None:
        self._is_hardened = decision.hardened is not None
        self._value: Any = None
        self._failure: Exception | None = None
        self.construct: str | None = None

    def returned(self, value: Any) -> None:
        self._value = value
        if self._is_hardened:
            self.construct = construct_in_result(value)

    def raised(self, error: Exception) -> None:
        self._failure = error
        if self._is_hardened:
            self.construct = construct_in_error(error)

    def result(self) -> Any:
        """Return the sink's result; raise SinkFailed for its exception."""
        if self._failure is not None:
            raise SinkFailed(self._failure)
        return self._value


async def _awaited(answer: Any) -> Any:
    return await answer


def _payload(code: str | bytes) -> bytes:
    """Return an immutable copy of ``code``; raise EvalDenied when it is not text."""
    try:
        # The base classes' methods: a subclass could return different texts to the guard and the sink.
        return str.encode(code) if isinstance(code, str) else bytes(memoryview(code))
    except UnicodeEncodeError:
        refusal = denial(Code.EVAL_BAD_ENCODING, "The payload has a lone surrogate, so it is not UTF-8.")
    except TypeError:
        refusal = denial(Code.INVALID_INPUT, f"A payload is text or bytes, not {type(code).__name__}.")
    raise EvalDenied(refusal)


def _pasted(sink: str | None, target: str | None, shape: str | None, *, wrap: bool) -> tuple[str, str]:
    """Return the text around a payload; raise TypeError when the arguments do not define how it is evaluated."""
    if sink is not None:
        if shape is not None or wrap:
            raise TypeError("a named sink defines its shape: give no shape and no wrap")
        return "", ""
    if target is None or shape is None:
        raise TypeError("guarded() needs the name of a sink, or a target and the shape of its wrapper")
    return _wrapper(shape) if wrap else ("", "")


def _wrapper(shape: str) -> tuple[str, str]:
    # Imported here because it loads the parser, which is not needed without wrap.
    from evalward.guard.syntax.wrap import WRAPPERS  # noqa: PLC0415
    from evalward.guard.target import Shape  # noqa: PLC0415

    wrapper = WRAPPERS[Shape(shape)]
    return wrapper.prefix.decode(), wrapper.suffix.decode()
