"""The enforcement point: a sink that runs exactly the judged bytes (contract.md §7)."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, TypeVar, overload

from evalward.client.aio import AsyncGuardClient
from evalward.client.guard_reply import Decision, denial
from evalward.errors import Code

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping

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
    triage: Triage | None = None,
) -> Callable[..., Any]:
    """Return ``eval_fn`` guarded: it is called only with the exact text of an allowed payload.

    ``sink`` names what ``eval_fn(text, …)`` does with the text, such as ``playwright.evaluate`` (``evalward sinks``
    lists them); ``bindings`` are additional names that it binds. For a sink that is not in that list, ``target`` says
    where the text is evaluated, and ``shape`` which wrapper ``eval_fn`` puts around it; with ``wrap``, ``eval_fn`` adds
    no wrapper and gets the payload inside the wrapper of ``shape``. Without a sink, a missing target or shape raises
    TypeError. ``profile`` must be at least as strict as the policy's; an ALLOW under the profile ``seed`` counts only
    if ``profile`` is ``seed``. A coroutine function needs an AsyncGuardClient, any other function a GuardClient;
    another combination raises TypeError. ``triage`` stores denied payloads.

    The result takes ``(code, …)``, text or UTF-8. It raises EvalDenied for a denied payload and SinkFailed for an
    exception of ``eval_fn``; their texts contain no payload. A sink that reports the payload's own error returns it as
    data.
    """
    is_async = inspect.iscoroutinefunction(eval_fn)
    if is_async is not isinstance(guard, AsyncGuardClient):
        raise TypeError("a coroutine function needs an AsyncGuardClient, any other sink a GuardClient")
    before, behind = _pasted(sink, target, shape, wrap=wrap)
    ask = functools.partial(
        guard.validate, target=target, shape=shape, sink=sink, bindings=bindings, profile=profile
    )

    def passed(payload: bytes, decision: Decision) -> str:
        if decision.allowed is not True:
            if triage is not None:
                triage.keep(payload, decision)
            raise EvalDenied(decision)
        try:
            return f"{before}{payload.decode()}{behind}"
        except UnicodeDecodeError:
            refusal = denial(Code.EVAL_BAD_ENCODING, "The payload is not UTF-8.")
        raise EvalDenied(refusal)

    def sync_sink(code: str | bytes, *args: Any, **rest: Any) -> Any:
        payload = _payload(code)
        text = passed(payload, ask(payload))  # type: ignore[arg-type]  # a GuardClient returns no coroutine
        try:
            return eval_fn(text, *args, **rest)
        except Exception as error:  # noqa: BLE001 - its text may quote the payload
            failure = error
        # Outside the handler: an exception raised inside it would have the first one as its context.
        raise SinkFailed(failure)

    async def async_sink(code: str | bytes, *args: Any, **rest: Any) -> Any:
        payload = _payload(code)
        text = passed(payload, await _awaited(ask(payload)))
        try:
            return await eval_fn(text, *args, **rest)
        except Exception as error:  # noqa: BLE001 - its text may quote the payload
            failure = error
        raise SinkFailed(failure)

    made = async_sink if is_async else sync_sink
    setattr(made, MARK, True)
    return made


def is_guarded(function: object) -> bool:
    """Return whether ``function`` is a sink that ``guarded`` made."""
    return getattr(function, MARK, False) is True


async def _awaited(answer: Any) -> Decision:
    decision: Awaitable[Decision] = answer
    return await decision


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
