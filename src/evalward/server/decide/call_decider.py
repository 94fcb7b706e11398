"""ValidateCall: route a tool call by the manifest, judge and record every source field, decide on the whole call."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from evalward.errors import (
    Code,
    CodedError,
    Meta,
    Repair,
    success_envelope,
    would_block,
    would_block_names,
)
from evalward.server.decide.decisions import Decision
from evalward.server.decide.judged_field import JudgedField, judged_field, replaceable
from evalward.server.decide.load_shedding import check_open
from evalward.server.decide.manifest_bindings import check_bindings
from evalward.server.decide.request_context import RequestContext
from evalward.server.decide.verdict_binding import binding_message
from evalward.server.requests.call_request import CallReader
from evalward.server.requests.caller import UNKNOWN_CALLER
from evalward.server.requests.validate_request import ValidationRequest
from evalward.similar import similar_names
from evalward.tools import read_arguments, route
from evalward.tools.kinds import FieldKind
from evalward.tools.payloads import payloads_of
from evalward.tools.permitted import check_permitted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evalward.errors import Provenance
    from evalward.guard.target import Shape, Target
    from evalward.guard.verdict import Finding, Verdict
    from evalward.policy import Policy
    from evalward.server.decide.audit_trail import AuditTrail
    from evalward.server.decide.decider import Decider
    from evalward.server.requests.call_request import ToolCallRequest
    from evalward.server.requests.caller import Caller
    from evalward.tools import CallField, Manifest, Route, Tool
    from evalward.tools.commands import CommandValidator
    from evalward.tools.payloads import Payload
    from evalward.v1 import evalward_pb2 as pb

ARGUMENTS_FACTOR: Final = 4
"""The arguments may have this many times the bytes of a payload: JSON escapes make them longer."""
_SIMILAR_FROM = 0.4


class CallDecision(NamedTuple):
    """The decision on a call; ``failed_path`` is the field that caused a denial."""

    decision: Decision
    tool: str
    fields: tuple[JudgedField, ...]
    failed_path: str


@dataclass(slots=True)
class _Progress:
    """The progress of a call, stored outside of it, since a refusal reports it too."""

    judged: list[JudgedField] = field(default_factory=list)
    failed_path: str = ""

    def note(self, found: CallField, verdict: Verdict | None) -> None:
        judged = judged_field(found, verdict)
        if judged is not None:
            self.judged.append(judged)


class CallDecider:
    """Decides ValidateCall requests under one manifest; without a manifest every tool is unknown."""

    def __init__(  # noqa: PLR0913 - its parts
        self,
        decider: Decider,
        audit_trail: AuditTrail,
        *,
        policy: Policy,
        provenance: Provenance,
        manifest: Manifest | None,
        validates_commands: bool = True,
    ) -> None:
        """``validates_commands`` false: every request must hold the judged fields only."""
        self._decider = decider
        self._audit_trail = audit_trail
        self._provenance = provenance
        self._fields = policy.fields
        self._max_bytes = ARGUMENTS_FACTOR * policy.limits.payload_bytes
        self._manifest = manifest
        self._tools: Mapping[str, Tool] = {tool.name: tool for tool in manifest.tools} if manifest else {}
        self._validators = _validators(self._tools) if validates_commands else {}
        for tool in self._tools.values():
            check_bindings(tool, policy)

    def decide(
        self,
        wire: bytes,
        *,
        remaining: float | None,
        stopping: bool = False,
        caller: Caller = UNKNOWN_CALLER,
        takes_programs: bool = True,
    ) -> CallDecision:
        """Decide the serialised ValidateCallRequest ``wire``; never raises. Parameters as in ``Decider.decide``.

        ``takes_programs`` as in ``CallReader``.
        """
        reader = CallReader(wire, takes_programs=takes_programs)
        request = RequestContext(reader, remaining, caller)
        progress = _Progress()
        decision = self._decider.guarded(
            request, lambda: self._decided(request, reader, progress, remaining, stopping=stopping)
        )
        return CallDecision(decision, reader.tool, tuple(progress.judged), progress.failed_path)

    def _decided(
        self,
        request: RequestContext,
        reader: CallReader,
        progress: _Progress,
        remaining: float | None,
        *,
        stopping: bool,
    ) -> Decision:
        check_open(remaining, stopping=stopping)
        asked = reader.call()
        request.tool = asked.tool
        tool, arguments = self._tool_and_arguments(asked)
        reader.received = reader.received._replace(target=tool.target, shape=tool.shape, sink=tool.sink)
        way = route(tool, arguments)
        if not way.is_eval:
            reader.received = reader.received._replace(target=None, shape=None, sink=None)
            if not asked.judged_fields_only:
                validator = self._validators.get(tool.name)
                if validator is not None:  # a tool that a page registered has no schema that counts
                    validator.check(arguments)
        return self._judged(request, reader, asked, way, progress, remaining)

    def _tool_and_arguments(self, asked: ToolCallRequest) -> tuple[Tool, Mapping[str, Any]]:
        return self._tool(asked.tool), read_arguments(asked.arguments_json, max_bytes=self._max_bytes)

    def _tool(self, name: str) -> Tool:
        tool = self._manifest.tool(name) if self._manifest is not None else None
        if tool is None and self._manifest is not None and self._manifest.is_page_tool(name):
            raise CodedError(
                Code.TOOL_UNKNOWN,
                f"A page registered the tool {name}, and the manifest denies such tools (page_tools).",
                repair=Repair(field="/tool"),
            )
        if tool is None:
            known = f"The manifest has no tool {name}." if self._tools else "No manifest is loaded."
            similar = similar_names(name, self._tools, alike=_SIMILAR_FROM)
            raise CodedError(Code.TOOL_UNKNOWN, known, repair=Repair(field="/tool"), similar_refs=similar)
        return tool

    def _judged(  # noqa: PLR0913, PLR0917 - the parsed call
        self,
        request: RequestContext,
        reader: CallReader,
        asked: ToolCallRequest,
        way: Route,
        progress: _Progress,
        remaining: float | None,
    ) -> Decision:
        """Judge the fields in order; the first denial is the decision on the call."""
        verdicts: list[Verdict] = []
        audited = True
        for found in way.fields:
            progress.failed_path = found.path
            reader.payload_field = found.path
            check_permitted(way.tool, found, self._fields)
            last: Verdict | None = None
            for code in payloads_of(way.tool, found, limit_bytes=self._max_bytes // ARGUMENTS_FACTOR):
                part = request.part(code, found.logged)
                part.takes_offers = reader.takes_programs and found.kind is FieldKind.SOURCE
                part.is_inert = found.kind is FieldKind.MARKUP
                part.least_hardening = code.hardening
                last = verdict = replaceable(
                    found,
                    self._decider.judge(part, _request_for(code, asked, found), remaining),
                    takes_programs=reader.takes_programs,
                )
                audited = self._audit_trail.verdict(part, verdict) and audited
                if not verdict.allowed:
                    progress.note(found, verdict)
                    return self._denied(request, asked, way, found, code, verdict, audited=audited)
                verdicts.append(verdict)
            progress.note(found, last)
        progress.failed_path = ""
        if not way.is_eval:
            audited = self._audit_trail.command(request) and audited
        return self._passed(request, way, progress, verdicts, audited=audited)

    def _denied(  # noqa: PLR0913, PLR0917 - what a denial says
        self,
        request: RequestContext,
        asked: ToolCallRequest,
        way: Route,
        found: CallField,
        code: Payload,
        verdict: Verdict,
        *,
        audited: bool,
    ) -> Decision:
        more = (("tool", way.tool.name), ("path", found.path), ("kind", found.kind.value))
        detailed = replace(verdict, details=(*verdict.details, *more))
        if code.is_made:
            # Locations in a generated program are not locations in the field.
            detailed = replace(
                detailed, location=None, findings=tuple(map(_without_location, verdict.findings))
            )
        payload = code.payload if asked.include_context and not code.is_made else None
        decision = self._decider.verdict_answer(request, detailed, audited=audited, context=payload)
        return decision._replace(binding=self._binding(request, code.target, code.shape, code.sink, verdict))

    def _passed(
        self,
        request: RequestContext,
        way: Route,
        progress: _Progress,
        verdicts: list[Verdict],
        *,
        audited: bool,
    ) -> Decision:
        body: dict[str, object] = {"tool": way.tool.name, "operation_type": way.operation_type}
        last = verdicts[-1] if verdicts else None
        if last is not None and way.is_eval:
            body |= {"target": last.target, "shape": last.shape, "profile": last.profile}
            body |= {"sink": last.sink} if last.sink else {}
        body["fields"] = [each.as_json() for each in progress.judged]
        names = tuple(dict.fromkeys(name for one in verdicts for name in would_block_names(one)))
        found = [each for one in verdicts for each in would_block(one)]
        hardened = next((one for one in verdicts if one.hardened is not None), None)
        if hardened is not None:
            self._audit_trail.remember(request, hardened)
        binding = self._binding(
            request,
            way.tool.target if way.is_eval else last.target if last else None,
            way.tool.shape if way.is_eval else None,
            way.tool.sink if way.is_eval else None,
            last,
        )
        meta = self._meta(request, audited=audited, found=found)
        return Decision(None, success_envelope(body, meta=meta), binding, names)

    def _meta(self, request: RequestContext, *, audited: bool, found: object) -> Meta:
        return Meta(
            elapsed_ms=request.elapsed_ms,
            decision_id=request.decision_id,
            provenance=self._provenance,
            audited=audited,
            session_id=request.reader.received.session_id or None,
            would_block=tuple(found),  # type: ignore[arg-type]  # what would_block gives
        )

    def _binding(
        self,
        request: RequestContext,
        target: Target | None,
        shape: Shape | None,
        sink: str | None,
        verdict: Verdict | None,
    ) -> pb.VerdictBinding:
        return binding_message(
            code_hash=hashlib.sha256(request.reader.received.arguments or b"").hexdigest(),
            target=target,
            shape=shape,
            sink=sink,
            profile=verdict.profile if verdict else None,
            policy_digest=self._provenance.policy_digest,
            decision_id=request.decision_id,
            request_id=request.reader.received.request_id,
        )


def _without_location(finding: Finding) -> Finding:
    return replace(finding, location=None, trace=())


def _validators(tools: Mapping[str, Tool]) -> dict[str, CommandValidator]:
    if not tools:
        return {}
    from evalward.tools.commands import CommandValidator  # noqa: PLC0415 - only a service with a manifest loads it

    return {name: CommandValidator(tool) for name, tool in tools.items()}


def _request_for(code: Payload, asked: ToolCallRequest, found: CallField) -> ValidationRequest:
    is_source = found.kind is FieldKind.SOURCE
    return ValidationRequest(
        code=code.payload,
        target=code.target,
        shape=code.shape,
        profile=asked.profile,
        bindings=code.bindings,
        limits=asked.limits,
        sink=code.sink,
        session_id=asked.session_id,
        request_id=asked.request_id,
        harden=asked.harden if is_source else None,
        prepared=asked.prepared if is_source else "",
    )
