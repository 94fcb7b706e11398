"""Envelopes and denials as a CallToolResult, which both frameworks send unchanged."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from mcp_types import CallToolResult

from evalward.adapters import to_call_tool_result
from evalward.client import EvalDenied, SinkFailed
from evalward.client.guard_reply import denial
from evalward.errors import Code

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

P = ParamSpec("P")
R = TypeVar("R")


def to_result(envelope: Mapping[str, Any]) -> CallToolResult:
    """Return ``envelope`` as the result of a tool call; ``isError`` is the opposite of its ``ok``."""
    return CallToolResult.model_validate(to_call_tool_result(envelope))


def failure_result(error: BaseException) -> CallToolResult:
    """Return ``error`` as a result: the guard's envelope if it has one, never its text."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, EvalDenied):
            return to_result(seen.envelope)
        if isinstance(seen, SinkFailed):
            error = seen.failure
            break
        seen = seen.__cause__
    return to_result(denial(Code.INTERNAL, f"The tool failed ({type(error).__name__}).").envelope)


def denials_as_results(tool: Callable[P, R]) -> Callable[P, R]:
    """Return ``tool`` so that it returns a CallToolResult when a guarded sink raises.

    The signature is unchanged, so the framework derives the same schema.
    """

    @functools.wraps(tool)
    async def answering(*args: P.args, **rest: P.kwargs) -> Any:
        try:
            return await cast("Awaitable[Any]", tool(*args, **rest))
        except (EvalDenied, SinkFailed) as error:
            return failure_result(error)

    @functools.wraps(tool)
    def answering_sync(*args: P.args, **rest: P.kwargs) -> Any:
        try:
            return tool(*args, **rest)
        except (EvalDenied, SinkFailed) as error:
            return failure_result(error)

    return cast("Callable[P, R]", answering if inspect.iscoroutinefunction(tool) else answering_sync)
