"""Envelopes and denials as the CallToolResult that both frameworks send as it is."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from mcp_types import CallToolResult

from evalward.adapters import to_call_tool_result
from evalward.client import EvalDenied, SinkFailed
from evalward.client.decision import denial
from evalward.errors import Code

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

P = ParamSpec("P")
R = TypeVar("R")


def to_result(envelope: Mapping[str, Any]) -> CallToolResult:
    """Return ``envelope`` as the result of a tool call; ``isError`` is the opposite of its ``ok``."""
    return CallToolResult.model_validate(to_call_tool_result(envelope))


def failure_result(error: BaseException) -> CallToolResult:
    """Return the result that ``error`` is: the guard's envelope where there is one, and never its text."""
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
    """Return ``tool`` so that it answers with a CallToolResult where a guarded sink raised.

    Its signature stays the same, so the framework derives the same schema from it.
    """

    @functools.wraps(tool)
    async def answering(*args: P.args, **rest: P.kwargs) -> Any:
        try:
            return await cast("Awaitable[Any]", tool(*args, **rest))
        except (EvalDenied, SinkFailed) as error:
            return failure_result(error)

    @functools.wraps(tool)
    def answering_at_once(*args: P.args, **rest: P.kwargs) -> Any:
        try:
            return tool(*args, **rest)
        except (EvalDenied, SinkFailed) as error:
            return failure_result(error)

    return cast("Callable[P, R]", answering if inspect.iscoroutinefunction(tool) else answering_at_once)
