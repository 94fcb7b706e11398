"""The outcome of a tool call: the line to send to the server, or the result that denies it."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from evalward.client.denied_run import denied_run
from evalward.client.guard_reply import denial
from evalward.errors import Code, CodedError, NotJsonError, canonical_json
from evalward.proxy.known_tools import known_tools
from evalward.proxy.tool_calls import with_texts
from evalward.tools import route
from evalward.tools.pointer import steps_of
from evalward.tools.projection import only

if TYPE_CHECKING:
    from evalward.client.call_decision import CallDecision
    from evalward.proxy.call_guard import CallGuard
    from evalward.proxy.known_tools import KnownTools
    from evalward.proxy.listing import Listing
    from evalward.proxy.messages import Message
    from evalward.proxy.tool_calls import ToolCall
    from evalward.tools import Manifest, Tool

LOG: Final = logging.getLogger("evalward.proxy")
_UNLISTED: Final = (
    "The server has not listed its tools, so that nothing says which fields of a call are code."
)


class HardenedRun(NamedTuple):
    """A call that runs ``programs``: pairs of a program and the payload that it replaces. ``allow`` decided on it."""

    allow: CallDecision
    programs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdict on a call: ``envelope`` denies it; else ``line`` replaces its line, None: the client's own is sent.

    ``run`` is what runs where hardened programs replace the code.
    """

    envelope: dict[str, Any] | None = None
    line: bytes | None = None
    run: HardenedRun | None = None


class CallJudge:
    """Judges the calls of one session with ``guard``. ``declared`` is the operator's manifest, from ``source``.

    ``told`` are the notices that the operator has got, which sessions of one server share.
    """

    def __init__(
        self, guard: CallGuard, listing: Listing, *, declared: Manifest | None, source: str, told: set[str]
    ) -> None:
        self._guard = guard
        self._listing = listing
        self._declared = declared
        self._source = source
        # Set at once: calls and lists come on different threads, and one must not see the other's half.
        self._latest: tuple[tuple[dict[str, Any], ...], KnownTools] | None = None
        self._told = told

    def hidden(self) -> frozenset[str]:
        """Return the names of the tools that a client is not shown."""
        known, allowed = self._known_now(), self._guard.allowed_targets()
        return frozenset() if known is None or allowed is None else known.hidden(allowed)

    def judge(self, message: Message, call: ToolCall) -> Judged:
        """Return the verdict on ``call``, which ``message`` asks for; never raises."""
        try:
            return self._judged(message, call)
        except CodedError as refusal:
            return Judged(self._guard.refused(call.name, refusal))
        except (NotJsonError, UnicodeEncodeError):
            return Judged(denial(Code.INVALID_INPUT, "The arguments cannot be written as JSON.").envelope)
        except Exception as error:  # noqa: BLE001 - fail closed: no failure is a reason to run a payload
            LOG.error("a call could not be judged: %s", type(error).__name__)  # noqa: TRY400 - no payload in the log
            why = f"The call could not be judged ({type(error).__name__})."
            return Judged(denial(Code.INTERNAL, why).envelope)

    def denied_at_run_time(self, run: HardenedRun, construct: str) -> dict[str, Any]:
        """Record that a program of ``run`` was denied ``construct``, and return the envelope that tells it."""
        report = self._guard.report_denial(run.allow.decision_id, construct)
        return denied_run(run.allow, construct, is_reported=report.recorded).envelope

    def _judged(self, message: Message, call: ToolCall) -> Judged:
        manifest, tool = self._declared_tool(call.name)
        way = route(tool, call.arguments)
        if not way.fields:
            return Judged()
        judged = [steps_of(found.path) for found in way.fields]
        if tool.when is not None:
            judged.append((tool.when.field,))
        decision = self._guard.validate_call(
            manifest,
            call.name,
            canonical_json(only(call.arguments, judged)),
            runs=[found.path for found in way.fields if found.is_text],
        )
        if decision.allowed is not True:
            return Judged(decision.envelope)
        texts = {
            each.path: each.hardened.decode("ascii") for each in decision.judged if each.hardened is not None
        }
        if not texts:
            return Judged()
        payloads = {found.path: found.code.decode() for found in way.fields}
        programs = tuple((program, payloads[path]) for path, program in texts.items())
        return Judged(line=with_texts(message, texts), run=HardenedRun(decision, programs))

    def _declared_tool(self, name: str) -> tuple[Manifest, Tool]:
        """Return the tool called ``name``, and its manifest; raise CodedError (TOOL_UNKNOWN) for an unknown one."""
        known = self._known_now()
        if known is None:
            raise CodedError(Code.TOOL_UNKNOWN, _UNLISTED)
        if name in known.differing or known.manifest is None:
            why = f"The tool differs from {known.name}, so nothing says which of its fields are code."
            raise CodedError(Code.TOOL_UNKNOWN, why)
        tool = known.manifest.tool(name)
        if tool is None:
            raise CodedError(Code.TOOL_UNKNOWN, f"The tool is not in {known.name}.")
        return known.manifest, tool

    def _known_now(self) -> KnownTools | None:
        """Return what is known of the tools that the server lists now; the same list is compared once."""
        served = self._listing.tools
        if served is None:
            return None
        latest = self._latest
        if latest is not None and latest[0] is served:
            return latest[1]
        known = known_tools(served, server=self._listing.server, declared=self._declared, source=self._source)
        self._latest = served, known
        self._tell(known)
        return known

    def _tell(self, known: KnownTools) -> None:
        if known.notice and known.notice not in self._told:
            self._told.add(known.notice)
            LOG.warning("%s", known.notice)
