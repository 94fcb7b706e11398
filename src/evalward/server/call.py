"""ValidateCall: route a tool call by the manifest, judge every source field, record each, answer for the whole."""

from __future__ import annotations

import difflib
import hashlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from evalward.errors import Code, CodedError, Meta, Repair, success_envelope, would_block, would_block_names
from evalward.policy.load import Issue
from evalward.server.answers import Answer
from evalward.server.call_request import CallReading
from evalward.server.caller import NOBODY
from evalward.server.case import Case
from evalward.server.requests import Question
from evalward.server.room import check_open
from evalward.server.wire import binding_message
from evalward.tools import ManifestError, read_arguments, route

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evalward.errors import Provenance
    from evalward.guard.verdict import Verdict
    from evalward.policy import Policy
    from evalward.server.call_request import CallQuestion
    from evalward.server.caller import Caller
    from evalward.server.decision import Decider
    from evalward.server.ledger import Ledger
    from evalward.tools import Manifest, Route, SourceField, Tool
    from evalward.tools.commands import CommandValidator
    from evalward.v1 import evalward_pb2 as pb

ARGUMENTS_FACTOR: Final = 4
"""The arguments may have this many times the bytes of a payload: JSON escapes make them longer."""
_SIMILAR = 3
_SIMILAR_FROM = 0.4


class Judged(NamedTuple):
    """A source field that was judged: its JSON Pointer and the SHA-256 of its UTF-8 bytes."""

    path: str
    sha256: str


class CallAnswer(NamedTuple):
    """What goes back for a call; ``failed_path`` is the field that the denial is about."""

    answer: Answer
    tool: str
    fields: tuple[Judged, ...]
    failed_path: str


@dataclass(slots=True)
class _Progress:
    """How far a call got; kept outside of it, since a refusal must say it too."""

    judged: list[Judged] = field(default_factory=list)
    failed_path: str = ""


class CallDecider:
    """Answers ValidateCall under one manifest; without one every tool is unknown."""

    def __init__(
        self,
        decider: Decider,
        ledger: Ledger,
        *,
        policy: Policy,
        provenance: Provenance,
        manifest: Manifest | None,
    ) -> None:
        self._decider = decider
        self._ledger = ledger
        self._provenance = provenance
        self._max_bytes = ARGUMENTS_FACTOR * policy.limits.payload_bytes
        self._tools: Mapping[str, Tool] = {tool.name: tool for tool in manifest.tools} if manifest else {}
        self._validators = _validators(self._tools)
        for tool in self._tools.values():
            _check_policy(tool, policy)

    def decide(
        self, wire: bytes, *, remaining: float | None, stopping: bool = False, caller: Caller = NOBODY
    ) -> CallAnswer:
        """Answer the serialised ValidateCallRequest ``wire``; never raises. As ``Decider.decide``."""
        reading = CallReading(wire)
        case = Case(reading, remaining, caller)
        progress = _Progress()
        answer = self._decider.answer(
            case, lambda: self._decided(case, reading, progress, remaining, stopping=stopping)
        )
        return CallAnswer(answer, reading.tool, tuple(progress.judged), progress.failed_path)

    def _decided(
        self,
        case: Case,
        reading: CallReading,
        progress: _Progress,
        remaining: float | None,
        *,
        stopping: bool,
    ) -> Answer:
        check_open(remaining, stopping=stopping)
        asked = reading.call()
        case.tool = asked.tool
        tool = self._tool(asked.tool)
        reading.received = reading.received._replace(target=tool.target, shape=tool.shape)
        arguments = read_arguments(asked.arguments_json, max_bytes=self._max_bytes)
        way = route(tool, arguments)
        if way.is_eval:
            return self._judged(case, asked, way, progress, remaining)
        reading.received = reading.received._replace(target=None, shape=None)
        self._validators[tool.name].check(arguments)
        return self._passed(case, tool, audited=self._ledger.command(case))

    def _tool(self, name: str) -> Tool:
        tool = self._tools.get(name)
        if tool is None:
            known = f"The manifest has no tool {name}." if self._tools else "No manifest is loaded."
            similar = difflib.get_close_matches(name, self._tools, n=_SIMILAR, cutoff=_SIMILAR_FROM)
            raise CodedError(Code.TOOL_UNKNOWN, known, repair=Repair(field="tool"), similar_refs=similar)
        return tool

    def _judged(
        self, case: Case, asked: CallQuestion, way: Route, progress: _Progress, remaining: float | None
    ) -> Answer:
        """Judge the source fields in order; the first denial answers for the call."""
        verdicts: list[Verdict] = []
        audited = True
        for source in way.sources:
            progress.failed_path = source.path
            part = case.part(source.code, source.logged)
            verdict = self._decider.judge(part, _question(way.tool, asked, source), remaining)
            audited = self._ledger.verdict(part, verdict) and audited
            progress.judged.append(Judged(source.path, verdict.code_hash))
            if not verdict.allowed:
                detailed = replace(
                    verdict, details=(*verdict.details, ("tool", way.tool.name), ("path", source.path))
                )
                payload = source.code if asked.include_context else None
                answer = self._decider.verdict_answer(case, detailed, audited=audited, context=payload)
                return answer._replace(binding=self._binding(case, way.tool, verdict))
            verdicts.append(verdict)
        progress.failed_path = ""
        fields = [each._asdict() for each in progress.judged]
        last = verdicts[-1]
        meta = self._meta(
            case, audited=audited, found=[each for one in verdicts for each in would_block(one)]
        )
        body = {
            "tool": way.tool.name,
            "operation_type": way.tool.operation_type,
            "target": last.target,
            "shape": last.shape,
            "profile": last.profile,
            "fields": fields,
        }
        names = tuple(dict.fromkeys(name for one in verdicts for name in would_block_names(one)))
        return Answer(None, success_envelope(body, meta=meta), self._binding(case, way.tool, last), names)

    def _passed(self, case: Case, tool: Tool, *, audited: bool) -> Answer:
        """Answer for a call that evaluates nothing."""
        body = {"tool": tool.name, "operation_type": tool.operation_type, "fields": []}
        meta = self._meta(case, audited=audited, found=())
        return Answer(None, success_envelope(body, meta=meta), self._binding(case, None, None))

    def _meta(self, case: Case, *, audited: bool, found: object) -> Meta:
        return Meta(
            elapsed_ms=case.elapsed_ms,
            decision_id=case.decision_id,
            provenance=self._provenance,
            audited=audited,
            session_id=case.reading.received.session_id or None,
            would_block=tuple(found),  # type: ignore[arg-type]  # what would_block gives
        )

    def _binding(self, case: Case, tool: Tool | None, verdict: Verdict | None) -> pb.VerdictBinding:
        return binding_message(
            code_hash=hashlib.sha256(case.reading.received.arguments or b"").hexdigest(),
            target=tool.target if tool else None,
            shape=tool.shape if tool else None,
            profile=verdict.profile if verdict else None,
            policy_digest=self._provenance.policy_digest,
            decision_id=case.decision_id,
            request_id=case.reading.received.request_id,
        )


def _validators(tools: Mapping[str, Tool]) -> dict[str, CommandValidator]:
    if not tools:
        return {}
    from evalward.tools.commands import CommandValidator  # noqa: PLC0415 - only a service with a manifest loads it

    return {name: CommandValidator(tool) for name, tool in tools.items()}


def _question(tool: Tool, asked: CallQuestion, source: SourceField) -> Question:
    assert tool.target is not None  # noqa: S101 - an eval tool has one: the manifest is validated
    return Question(
        code=source.code,
        target=tool.target,
        shape=tool.shape,
        profile=asked.profile,
        bindings=tool.bindings,
        limits=asked.limits,
        session_id=asked.session_id,
        request_id=asked.request_id,
    )


def _check_policy(tool: Tool, policy: Policy) -> None:
    """Refuse at the start what would fail in every call: bindings that the policy does not take."""
    if tool.target is None:
        return
    try:
        policy.rules_for(tool.target, bindings=tool.bindings)
    except CodedError as refusal:
        raise ManifestError(
            "manifest", [Issue(f"tool {tool.name}: bindings", refusal.message, "what the policy binds")]
        ) from None
