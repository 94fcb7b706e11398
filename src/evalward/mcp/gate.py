"""The parts that both extensions share: compare the manifest with the server, and judge each eval call."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

import yaml

from evalward.client import is_guarded
from evalward.client.guard_reply import UNKNOWN, denial
from evalward.errors import Code, CodedError, Meta, NotJsonError, canonical_json
from evalward.mcp.result import failure_result, to_result
from evalward.tools import route
from evalward.tools.pointer import steps_of
from evalward.tools.projection import only
from evalward.tools.schema_places import at, root_place, walk
from evalward.tools.tool import SOURCE_FIELDS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

    from mcp_types import CallToolRequestParams, CallToolResult

    from evalward.client import AsyncGuardClient
    from evalward.tools import Manifest, Tool

T = TypeVar("T")

_EVAL_NAME: Final = re.compile(r"eval|exec|script|run_?(code|js|javascript)", re.IGNORECASE)
IDENTIFIER: Final = "dev.evalward/guard"


class GuardSetupError(RuntimeError):
    """The extension cannot guard the eval tools of the server; the text lists each reason."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("Evalward refuses to start:\n" + "\n".join(f"- {problem}" for problem in problems))
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True)
class Served:
    """A tool as the server lists it.

    ``runs_elsewhere`` says why its body may get other arguments than those that are judged; None: it gets the same.
    """

    name: str
    input_schema: Mapping[str, Any]
    runs_elsewhere: str | None = None


class Gate:
    """Judges the calls of one server. ``sinks`` are the guarded sinks of eval tools, by the tools' names.

    Raises GuardSetupError for a sink that is not guarded.
    """

    def __init__(
        self,
        guard: AsyncGuardClient,
        manifest: Manifest,
        *,
        sinks: Mapping[str, Callable[..., Any]] | None = None,
    ) -> None:
        self._guard = guard
        self._manifest = manifest
        self._sinks = dict(sinks or {})
        bare = [name for name, sink in self._sinks.items() if not is_guarded(sink)]
        if bare:
            raise GuardSetupError([f"the sink of {name} is not guarded()" for name in bare])

    def check(self, served: Sequence[Served], *, innermost: bool) -> None:
        """Raise GuardSetupError unless every tool in ``served`` is one that can be guarded as declared."""
        problems = [problem for tool in served for problem in self._problems(tool)]
        if not innermost:
            problems.append("another extension is registered behind this one and can change what was judged")
        if problems:
            raise GuardSetupError(problems)

    async def intercept(
        self,
        call: CallToolRequestParams,
        proceed: Callable[[], Awaitable[T]],
        *,
        is_started: bool,
    ) -> T | CallToolResult:
        """Return the result of ``proceed``, or the envelope that denies ``call``; never raises for an eval tool.

        ``is_started`` says whether the extension has started as the server's innermost one; if not, every call is
        denied.
        """
        if not is_started:
            message = "The guard's extension has not started as the innermost one of this server."
            return to_result(denial(Code.CONFIG_INVALID, message).envelope)
        refusal = await self.refusal(call.name, call.arguments or {})
        if refusal is not None:
            return to_result(refusal)
        if not self.evaluates(call.name):
            return await proceed()
        try:
            return await proceed()
        except Exception as error:  # noqa: BLE001 - its text may quote the payload, and would be logged
            return failure_result(error)

    async def refusal(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the envelope that denies the call, None when the call may be made; never raises."""
        try:
            return await self._refusal(name, arguments)
        except CodedError as refusal:
            meta = Meta(elapsed_ms=0, decision_id="", provenance=UNKNOWN, audited=False)
            return dict(refusal.envelope(meta))
        except (NotJsonError, UnicodeEncodeError):
            return denial(Code.INVALID_INPUT, "The arguments cannot be written as JSON.").envelope
        except Exception as error:  # noqa: BLE001 - fail closed: no failure is a reason to run a payload
            return denial(Code.INTERNAL, f"The call could not be judged ({type(error).__name__}).").envelope

    def evaluates(self, name: str) -> bool:
        """Return whether the manifest has an eval tool called ``name``."""
        tool = self._manifest.tool(name)
        return tool is not None and tool.is_eval

    async def _refusal(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any] | None:
        tool = self._manifest.tool(name)
        if tool is None:
            return denial(Code.TOOL_UNKNOWN, "The manifest has no such tool.").envelope
        way = route(tool, arguments)
        if not way.fields:
            return None
        judged = [steps_of(field.path) for field in way.fields]
        if tool.when is not None:
            judged.append((tool.when.field,))
        decision = await self._guard.validate_call(
            name,
            canonical_json(only(arguments, judged)),
            runs=[field.path for field in way.fields if field.is_text],
            target=tool.target if way.is_eval else None,
            shape=tool.shape if way.is_eval else None,
            sink=tool.sink if way.is_eval else None,
            judged_fields_only=True,
        )
        return None if decision.allowed is True else decision.envelope

    def _problems(self, served: Served) -> Iterator[str]:
        tool = self._manifest.tool(served.name)
        looks = _source_fields(served)
        if tool is None:
            entry: dict[str, Any] = {"name": served.name, "operation_type": "command"}
            if looks or _EVAL_NAME.search(served.name):
                entry |= {"operation_type": "eval", "target": "renderer", "source_fields": looks or ["code"]}
            yield f"the manifest has no tool {served.name}; add it, with the target that it really has:\n{_yaml(entry)}"
        elif tool.is_eval:
            yield from self._problems_of_eval(tool, served, looks)

    def _problems_of_eval(self, tool: Tool, served: Served, looks: list[str]) -> Iterator[str]:
        missing = [field for field in tool.source_fields or () if not _has(served, field)]
        more = [field for field in looks if field not in tool.sources and not _is_pointed_at(tool, field)]
        if missing or more or not (looks or tool.source_fields):
            what = (
                f"lacks the source field {missing[0]}"
                if missing
                else "has source fields beyond the manifest's"
            )
            fields = {"name": tool.name, "source_fields": looks or ["code"]}
            yield f"the tool {tool.name} {what}; as the server lists it:\n{_yaml(fields)}"
        if served.runs_elsewhere is not None and tool.name not in self._sinks:
            yield (
                f"the eval tool {tool.name} {served.runs_elsewhere}: guard its sink with guarded() "
                f"and give it as sinks={{{tool.name!r}: sink}}"
            )


def _source_fields(served: Served) -> list[str]:
    """Return the names under which the tool takes text that is known to be source."""
    found = [steps[-1] for steps, place in walk(root_place(served.input_schema)) if place.takes_text()]
    return [name for name in SOURCE_FIELDS if name in found]


def _has(served: Served, field: str) -> bool:
    start = root_place(served.input_schema)
    if field.startswith("/"):
        place = at(steps_of(field), start)
        return place is not None and bool(place.nodes)
    return any(steps[-1] == field for steps, _ in walk(start))


def _is_pointed_at(tool: Tool, field: str) -> bool:
    return any(source.startswith("/") and field in steps_of(source) for source in tool.sources)


def _yaml(entry: dict[str, Any]) -> str:
    text: str = yaml.safe_dump([entry], sort_keys=False)
    return "".join(f"    {line}\n" for line in text.splitlines()).rstrip()
