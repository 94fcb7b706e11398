"""The guard's order of work: admission, target, blocklist, parse, resolve, judge (guard.md §1).

A pure function of its arguments. A step that cannot prove a payload safe denies it. Only the comparison
profile ``seed`` allows a payload that does not parse, as the seed guard did.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from evalward.codes import Code
from evalward.guard.admission.admit import admit, content_hash
from evalward.guard.admission.blocklist import Occurrence, confirmed, occurrences, whole_words
from evalward.guard.checks.seed import seed_findings
from evalward.guard.checks.switched import switched_findings
from evalward.guard.constructs import analysis_limit, parser_ambiguity
from evalward.guard.constructs.labels import OFF_BY_DEFAULT_LABELS, UNSWITCHABLE_LABELS
from evalward.guard.resolve import resolve
from evalward.guard.rules import Action, BlocklistMode
from evalward.guard.screen.quiet import is_quiet
from evalward.guard.sinks import sinks
from evalward.guard.syntax.ambiguity import contextual_name_fault
from evalward.guard.syntax.faults import SYNTAX_KINDS, syntax_kind
from evalward.guard.syntax.locate import locate
from evalward.guard.syntax.offending import offending_token
from evalward.guard.syntax.program import Survey
from evalward.guard.syntax.readings import programs_for
from evalward.guard.syntax.shapes import Rejection, programs_of
from evalward.guard.syntax.survey import survey
from evalward.guard.syntax.wrap import WRAPPERS
from evalward.guard.target import Profile, Shape, Target
from evalward.guard.verdict import MAX_FINDINGS, Finding, Verdict, listed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evalward.guard.rules import Rules
    from evalward.guard.syntax.program import ParsedProgram

_LIMIT = analysis_limit.LABEL
_NOTHING: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class _Case:
    """One payload on its way to a verdict."""

    payload: bytes
    target: Target
    rules: Rules
    base: Verdict
    readings: list[ParsedProgram] | None = None

    def deny(self, code: Code, message: str, start: int | None = None, end: int | None = None) -> Verdict:
        place = None if start is None else locate(self.payload, start, start if end is None else end)
        return replace(self.base, code=code, message=message, location=place)

    def keep(self, programs: Sequence[ParsedProgram]) -> None:
        """Give the caller the programs that the syntax stage has accepted."""
        if self.readings is not None:
            self.readings.extend(programs)


def judge(  # noqa: PLR0913 - what a verdict follows from
    payload: bytes,
    *,
    target: Target,
    shape: Shape | None,
    rules: Rules,
    sink: str | None = None,
    readings: list[ParsedProgram] | None = None,
) -> Verdict:
    """Return the verdict on ``payload`` run by ``target`` in ``shape`` (None: in any undeclared way).

    With a ``sink`` (its id; its target is ``target``, and ``shape`` is None) the payload must be safe in every way in
    which that sink reads it. ``rules`` is the effective policy for ``target``. No payload makes this raise: an
    exception is a defect, and the caller answers INTERNAL. ``readings`` takes the programs that the syntax stage has
    accepted, for the emitter, which needs no second parse then.
    """
    base = Verdict(
        code=None,
        target=target,
        shape=shape,
        profile=rules.profile,
        code_hash=content_hash(payload),
        code_length=len(payload),
        sink=sink,
    )
    case = _Case(payload, target, rules, base, readings)
    refusal = admit(payload, rules.limits)
    if refusal is not None:
        return replace(case.deny(refusal.code, refusal.message, refusal.offset), limit=refusal.limit)
    if not rules.allowed:
        return case.deny(Code.EVAL_TARGET_DENIED, f"The policy does not allow evaluation in {target}.")
    found = occurrences(payload, rules.keywords)
    if rules.profile is Profile.SEED:
        return _keyword(case, found) if found else _seed(case)
    return _analysed(case, found)


def _analysed(case: _Case, found: Sequence[Occurrence]) -> Verdict:
    """Parse, confirm the blocklist's occurrences in the tree, resolve and judge."""
    payload, rules = case.payload, case.rules
    limit_bytes = rules.limits.payload_bytes
    sink = None if case.base.sink is None else sinks()[case.base.sink]
    if sink is None:
        programs = programs_of(payload, case.base.shape, limit_bytes=limit_bytes)
    else:
        programs = programs_for(payload, sink, limit_bytes=limit_bytes)
    if isinstance(programs, Rejection):
        return _without_tree(case, found, programs)
    if not found and not _watches_more(rules) and all(_is_quiet(case, each) for each in programs):
        case.keep(programs)
        return case.base
    surveys = _surveys(programs, rules, spans=bool(found))
    if isinstance(surveys, Rejection):
        return _without_tree(case, found, surveys)
    case.keep(programs)
    if found and rules.blocklist_mode is not BlocklistMode.SUBSTRING:
        counting = {
            each
            for program, seen in zip(programs, surveys, strict=True)
            for each in confirmed(found, payload, seen.opaque, program.offset)
        }
        found = [each for each in found if each in counting]
    resolved = resolve(programs, merged(surveys), rules, case.target, sink)
    all_found = [*resolved.findings, *switched_findings(payload, programs, rules)]
    judged = _findings(case, all_found, resolved.untold)
    return _with_keywords(case, found, judged)


def _is_quiet(case: _Case, program: ParsedProgram) -> bool:
    target = case.target
    return is_quiet(program, case.rules.limits, driven=target is Target.NODE, electron=target is Target.MAIN)


def _without_tree(case: _Case, found: Sequence[Occurrence], rejection: Rejection) -> Verdict:
    """Return the verdict on a payload without a tree: a word in it counts wherever it stands."""
    if case.rules.blocklist_mode is not BlocklistMode.SUBSTRING:
        found = whole_words(found, case.payload)
    return _with_keywords(case, found, _rejected(case, rejection))


def _watches_more(rules: Rules) -> bool:
    """Say whether policy switched on a construct that ordinary code uses, too: then no payload is skipped."""
    actions = rules.actions
    return bool(actions) and any(
        actions.get(label, Action.ALLOW) is not Action.ALLOW for label in OFF_BY_DEFAULT_LABELS
    )


def merged(surveys: Sequence[Survey]) -> Survey:
    """Return one survey for all programs of a payload: counts added, flags joined."""
    if len(surveys) == 1:
        return surveys[0]
    flags = {
        name: any(getattr(each, name) for each in surveys)
        for name in Survey.__slots__
        if name not in ("nodes", "opaque")
    }
    return Survey(nodes=sum(each.nodes for each in surveys), opaque=surveys[0].opaque, **flags)


def _surveys(
    programs: Sequence[ParsedProgram], rules: Rules, *, spans: bool
) -> tuple[Survey, ...] | Rejection:
    done = []
    for program in programs:
        seen = survey(program, rules.limits, spans=spans)
        if isinstance(seen, Rejection):
            return seen
        done.append(seen)
    return tuple(done)


def _with_keywords(case: _Case, found: Sequence[Occurrence], judged: Verdict) -> Verdict:
    """Return the denial for the keywords in ``found``, with the other findings of ``judged``."""
    return _keyword(case, found, judged) if found else judged


def _keyword(case: _Case, found: Sequence[Occurrence], judged: Verdict | None = None) -> Verdict:
    first = found[0]
    message = (
        f"The payload contains the blocklisted keyword {first.keyword.id}; the policy's blocklist setting "
        f"(mode {case.rules.blocklist_mode}) decides which occurrences count."
    )
    denial = case.deny(Code.EVAL_BLOCKED_KEYWORD, message, first.start, first.end)
    others = () if judged is None else judged.findings
    keywords = [
        Finding("", locate(case.payload, each.start, each.end), keyword=each.keyword.id)
        for each in _told(found)
    ]
    return replace(
        denial,
        keyword=first.keyword.id,
        findings=listed([*keywords, *others]),
        findings_total=len(found) + (0 if judged is None else judged.findings_total),
        shadow=() if judged is None else judged.shadow,
    )


def _told(found: Sequence[Occurrence]) -> list[Occurrence]:
    """Return the first occurrences, and the first of each keyword: locating one is expensive."""
    firsts = {each.keyword.id: number for number, each in reversed([*enumerate(found)])}
    return [
        each
        for number, each in enumerate(found)
        if number < MAX_FINDINGS or firsts[each.keyword.id] == number
    ]


def _rejected(case: _Case, why: Rejection) -> Verdict:
    if why.budget is not None:
        denial = case.deny(
            Code.EVAL_ANALYSIS_LIMIT, f"The analysis limit {why.limit} of {why.budget} is used up.", why.start
        )
        return replace(denial, limit=(why.limit, why.budget, None))
    if why.construct is None:
        named = contextual_name_fault(case.payload)
        if named is not None:
            return _blocked(case, [Finding(parser_ambiguity.LABEL, locate(case.payload, *named))], ())
        found = None if why.exact else _offending(case, why.start)
        place = found or (why.start, why.end)
        return _unparsed(case, *place)
    finding = Finding(why.construct, locate(case.payload, why.start, why.end))
    return _blocked(case, [finding], ())


def _unparsed(case: _Case, start: int, end: int) -> Verdict:
    """Deny a payload that does not parse, with the shape that was judged and what is known of the token."""
    shape = case.base.shape
    judged = "in its shape" if shape is None else f"in its shape, {shape}"
    kind = syntax_kind(case.payload, start, end)
    why = "" if kind is None else f" {SYNTAX_KINDS[kind]}"
    denial = case.deny(Code.EVAL_SYNTAX_ERROR, f"The payload does not parse {judged}.{why}", start, end)
    return denial if kind is None else replace(denial, details=(("syntax", kind),))


def _offending(case: _Case, fault: int) -> tuple[int, int] | None:
    """Return the payload span of the token at which the payload stops being a program in its shape."""
    wrapper = WRAPPERS[case.base.shape or Shape.SCRIPT]
    found = offending_token(wrapper.prefix + case.payload + wrapper.suffix, fault + len(wrapper.prefix))
    if found is None:
        return None
    start, end = (min(max(at - len(wrapper.prefix), 0), len(case.payload)) for at in found)
    return start, end


def _seed(case: _Case) -> Verdict:
    """Parse as a script unless a shape is declared: the seed guard knew no shapes and no ambiguities."""
    shape, limit = case.base.shape or Shape.SCRIPT, case.rules.limits.payload_bytes
    programs = programs_of(case.payload, shape, limit_bytes=limit)
    if isinstance(programs, Rejection):
        if programs.budget is not None:
            return _rejected(case, programs)
        return case.base
    found = [finding for program in programs for finding in seed_findings(program, case.payload)]
    return _findings(case, found)


def _findings(case: _Case, found: Sequence[Finding], untold: Mapping[str, int] = _NOTHING) -> Verdict:
    blocking, shadow, permits = [], [], False
    for finding in found:
        action = _action(case.rules, finding.construct)
        if action is Action.BLOCK:
            blocking.append(finding)
        elif action is Action.AUDIT:
            shadow.append(finding)
        else:
            permits = permits or finding.construct not in OFF_BY_DEFAULT_LABELS
    if not blocking:
        if not shadow and not permits:
            return case.base
        return replace(case.base, shadow=listed(shadow), permits=permits)
    more = sum(count for label, count in untold.items() if _action(case.rules, label) is Action.BLOCK)
    return _blocked(case, blocking, listed(shadow), more)


def _action(rules: Rules, construct: str) -> Action:
    if construct in UNSWITCHABLE_LABELS:
        return Action.BLOCK
    default = Action.ALLOW if construct in OFF_BY_DEFAULT_LABELS else Action.BLOCK
    return rules.actions.get(construct, default)


def _blocked(
    case: _Case, blocking: Sequence[Finding], shadow: tuple[Finding, ...], untold: int = 0
) -> Verdict:
    blocking = [each for each in blocking if each.construct != _LIMIT] or blocking
    first = blocking[0]
    if first.construct == _LIMIT:
        denial = case.deny(Code.EVAL_ANALYSIS_LIMIT, "The resolver's budget of steps is used up.")
        return replace(denial, limit=("steps", case.rules.limits.steps, None), location=first.location)
    return replace(
        case.base,
        code=Code.EVAL_BLOCKED_CONSTRUCT,
        construct=first.construct,
        location=first.location,
        findings=listed(blocking),
        findings_total=len(blocking) + untold,
        shadow=shadow,
        message=f"The payload reaches {first.construct}, which the policy denies.",
    )
