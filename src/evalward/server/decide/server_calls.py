"""Calls of servers under the names of a client's configuration, for hooks and gateways: a call decider for each.

A call of a server that no manifest knows is decided under the declaration that ``tools.unknown_call`` makes of it.
"""

from __future__ import annotations

import json
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from evalward.errors import Code, CodedError
from evalward.server.decide.call_decider import CallDecider, CallDecision
from evalward.server.decide.request_context import RequestContext
from evalward.server.requests.call_request import CallReader
from evalward.tools import read_arguments
from evalward.tools.projection import with_values
from evalward.tools.unknown_call import unknown_tool
from evalward.v1 import evalward_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evalward.policy import Policy
    from evalward.server.decide.decider import Decider
    from evalward.server.decide.decisions import Decision
    from evalward.server.requests.call_request import ToolCallRequest
    from evalward.server.requests.caller import Caller
    from evalward.tools import Manifest, Tool
    from evalward.tools.servers import Named, Servers


class ServerCall(NamedTuple):
    """A call as a door sees it; ``takes_programs`` says whether the door can replace the arguments."""

    readings: tuple[Named, ...]
    arguments_json: bytes
    session_id: str = ""
    request_id: str = ""
    takes_programs: bool = True


class ServerDecision(NamedTuple):
    """The decision on a call, and the arguments to run instead where a field has a program."""

    call: CallDecision
    arguments: dict[str, Any] | None = None

    @property
    def allowed(self) -> bool:
        """Whether the call may be made."""
        return self.call.decision.code is None


class UnknownServerDecider(CallDecider):
    """Decides calls of servers without a manifest."""

    def _tool_and_arguments(self, asked: ToolCallRequest) -> tuple[Tool, Mapping[str, Any]]:
        arguments = read_arguments(asked.arguments_json, max_bytes=self._max_bytes)
        return unknown_tool(asked.tool, arguments), arguments


class ServerCalls:
    """Decides calls under one policy; ``make`` returns the decider under a manifest, or of unknown servers."""

    def __init__(
        self,
        servers: Servers,
        decider: Decider,
        policy: Policy,
        make: Callable[[Manifest | None, type[CallDecider]], CallDecider],
    ) -> None:
        self._servers = servers
        self._decider = decider
        self._policy = policy
        self._make = make
        # The operator's own manifests are checked against the policy now, the usual ones when they are needed.
        self._deciders = {id(each): make(each, CallDecider) for each in servers.named.values()}

    @cached_property
    def _unknown(self) -> CallDecider:
        return self._make(None, UnknownServerDecider)

    def decide(
        self, call: ServerCall, *, remaining: float | None, stopping: bool, caller: Caller
    ) -> ServerDecision:
        """Decide ``call``; never raises."""
        try:
            found = self._servers.find(call.readings)
            decider = self._decider_of(found.manifest)
        except CodedError as refusal:
            return self.refused(refusal, caller)
        wire = pb.ValidateCallRequest(
            tool=found.tool,
            arguments_json=call.arguments_json,
            session_id=call.session_id,
            request_id=call.request_id,
        ).SerializeToString()
        decided = decider.decide(
            wire,
            remaining=remaining,
            stopping=stopping,
            caller=caller,
            takes_programs=call.takes_programs,
        )
        return ServerDecision(decided, _with_programs(call.arguments_json, decided))

    def refused(self, refusal: CodedError, caller: Caller) -> ServerDecision:
        """Return the denial of a call that is not read, recorded unless the caller has no permission.

        A flood of calls without a token, or from a page, must not fill the disk, so these are only counted.
        """

        def fail() -> Decision:
            raise refusal

        request = RequestContext(CallReader(b""), caller=caller)
        is_recorded = refusal.code not in {Code.UNAUTHENTICATED, Code.PERMISSION_DENIED}
        decision = self._decider.guarded(request, fail, is_recorded=is_recorded)
        return ServerDecision(CallDecision(decision, "", (), ""))

    def is_shown(self, reading: Named) -> bool:
        """Whether a tool may stay in a list: not one whose calls are always denied."""
        try:
            found = self._servers.find([reading])
            if found.manifest is None:
                unknown_tool(found.tool, {})
                return True
        except CodedError:
            return False
        tool = found.manifest.tool(found.tool)
        return tool is not None and (not tool.is_eval or tool.target in self._policy.allowed_targets)

    def _decider_of(self, manifest: Manifest | None) -> CallDecider:
        if manifest is None:
            return self._unknown
        decider = self._deciders.get(id(manifest))
        if decider is None:
            decider = self._deciders[id(manifest)] = self._make(manifest, CallDecider)
        return decider


def _with_programs(arguments_json: bytes, decided: CallDecision) -> dict[str, Any] | None:
    """Return the arguments with each program in place of its field; None without a program, or for a denial."""
    programs = {field.path: field.program for field in decided.fields if field.program is not None}
    if decided.decision.code is not None or not programs:
        return None
    texts = {path: program.text.decode("ascii") for path, program in programs.items()}
    return with_values(json.loads(arguments_json), texts)
