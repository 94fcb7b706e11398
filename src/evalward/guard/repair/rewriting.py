"""Find the mechanical rewrite of a denied payload, and judge it: only one that is allowed is offered.

A rewrite says what the payload says. Where that needs a guess about what the caller wants, there is none, and the
envelope's advice has to do. Rewrites apply at findings only: the rest of a payload stays as it is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from evalward.codes import Code
from evalward.guard import judge
from evalward.guard.repair.evaluated import (
    constructed_text,
    evaluated_page_text,
    evaluated_text,
    read_version,
    timer_text,
)
from evalward.guard.repair.page_texts import handler_text, scripted_markup, written_document
from evalward.guard.repair.reading import Edit, Placed, Reading, kind_of
from evalward.guard.repair.reflective import bare_object, frame_document, own_property, read_prototype
from evalward.guard.repair.shaped import reshaped
from evalward.guard.sinks import sinks
from evalward.guard.syntax.locate import locate
from evalward.guard.syntax.readings import programs_for
from evalward.guard.syntax.shapes import Rejection, programs_of
from evalward.guard.verdict import Rewrite

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evalward.guard.rules import Rules
    from evalward.guard.syntax.program import ParsedProgram
    from evalward.guard.target import Shape, Target
    from evalward.guard.verdict import Finding, Verdict

MAX_PAYLOAD_BYTES: Final = 16 * 1024
"""Larger payloads are not rewritten: a denial must not cost much more than an allow."""
MAX_TEXT: Final = 300
"""Characters of all edits together: what a model reads of a denial stays short."""
_MAX_EDITS: Final = 6
_MAX_OLD: Final = 32

_RULES: Final[dict[str, tuple[Callable[[Reading, Placed], list[Edit]], ...]]] = {
    "call_expression": (
        evaluated_page_text,
        timer_text,
        evaluated_text,
        constructed_text,
        handler_text,
        written_document,
        scripted_markup,
        own_property,
    ),
    "new_expression": (constructed_text,),
    "assignment_expression": (scripted_markup,),
    "member_expression": (frame_document, read_prototype, read_version),
    "object": (bare_object,),
}
_REWRITTEN: Final = frozenset({Code.EVAL_BLOCKED_KEYWORD, Code.EVAL_BLOCKED_CONSTRUCT})


def judge_repaired(  # noqa: PLR0913 - the parameters of ``judge``
    payload: bytes,
    *,
    target: Target,
    shape: Shape | None,
    rules: Rules,
    sink: str | None = None,
    readings: list[ParsedProgram] | None = None,
) -> Verdict:
    """Judge as ``evalward.guard.judge`` does; a denial has its mechanical rewrite, if there is one."""
    verdict = judge(payload, target=target, shape=shape, rules=rules, sink=sink, readings=readings)
    return with_rewrite(verdict, payload, rules)


def with_rewrite(verdict: Verdict, payload: bytes, rules: Rules) -> Verdict:
    """Return ``verdict`` on ``payload`` with the rewrite that is allowed under the same ``rules``, if there is one."""
    if verdict.code is None or verdict.target is None or len(payload) > MAX_PAYLOAD_BYTES:
        return verdict
    if verdict.code in _REWRITTEN:
        edits = _edits(verdict, payload)
    elif verdict.code is Code.EVAL_SYNTAX_ERROR:
        edits = reshaped(payload, verdict.shape, dict(verdict.details).get("syntax"))
    else:
        return verdict
    if not edits or len(edits) > _MAX_EDITS or sum(len(each.text) for each in edits) > MAX_TEXT:
        return verdict
    repaired = applied(payload, edits)
    again = judge(repaired, target=verdict.target, shape=verdict.shape, rules=rules, sink=verdict.sink)
    if not again.allowed:
        return verdict
    return replace(verdict, rewrites=tuple(_offered(payload, each) for each in edits))


def _offered(payload: bytes, edit: Edit) -> Rewrite:
    old = " ".join(payload[edit.start : edit.end].decode("utf-8", "replace").split())
    shown = old if len(old) <= _MAX_OLD else f"{old[:_MAX_OLD]}…"
    return Rewrite(locate(payload, edit.start, edit.end), shown, edit.text)


def rewritten(payload: bytes, rewrites: Sequence[Rewrite]) -> bytes:
    """Return ``payload`` after the edits of its verdict."""
    return applied(payload, [Edit(each.location.start, each.location.end, each.text) for each in rewrites])


def applied(payload: bytes, edits: Sequence[Edit]) -> bytes:
    """Return ``payload`` with ``edits``, which are in order and do not overlap."""
    parts, at = [], 0
    for edit in edits:
        parts += [payload[at : edit.start], edit.text.encode("utf-8", "surrogatepass")]
        at = edit.end
    return b"".join([*parts, payload[at:]])


def _edits(verdict: Verdict, payload: bytes) -> list[Edit]:
    programs = (
        programs_of(payload, verdict.shape, limit_bytes=MAX_PAYLOAD_BYTES)
        if verdict.sink is None
        else programs_for(payload, sinks()[verdict.sink], limit_bytes=MAX_PAYLOAD_BYTES)
    )
    if isinstance(programs, Rejection):
        return []
    reading = Reading(programs[0])
    found = [each for each in verdict.findings if each.location is not None]
    edits: list[Edit] = []
    for node, around in reading.nodes():
        rules = _RULES.get(kind_of(node))
        if rules is None:
            continue
        note = _note(reading, node, found)
        if note is None:
            continue
        placed = Placed(node, around, note)
        new = next((made for rule in rules if (made := rule(reading, placed))), [])
        if new and all(_is_apart(each, edits) for each in new):
            edits += new
    return sorted(edits)


def _note(reading: Reading, node: object, found: Sequence[Finding]) -> str | None:
    """Return what the last step of the first finding in ``node`` says, None where there is no finding."""
    for each in found:
        places = [each.location, *(step.location for step in each.trace)]
        if any(place is not None and reading.holds(node, place.start) for place in places):  # type: ignore[arg-type]
            return each.trace[-1].note if each.trace else ""
    return None


def _is_apart(edit: Edit, others: Sequence[Edit]) -> bool:
    return all(edit.end <= each.start or each.end <= edit.start for each in others)
