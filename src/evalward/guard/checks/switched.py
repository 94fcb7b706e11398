"""The checks that run only when a policy switches them on: bidi, loops, regular expressions (guard.md §3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.constructs import bidi, catastrophic_regex, unbounded_loop
from evalward.guard.rules import Action
from evalward.guard.syntax.locate import locate
from evalward.guard.verdict import Finding, TraceStep

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evalward.guard.rules import Rules
    from evalward.guard.syntax.program import ParsedProgram

_LIMIT = 6  # the envelope lists a first finding and five others
_NOTES = {
    bidi.LABEL: "a character that is not seen, or that reorders the text around it",
    unbounded_loop.LABEL: "nothing in the loop leaves it or waits",
    catastrophic_regex.LABEL: "one text can be matched in more ways than can be tried",
}


def switched_findings(payload: bytes, programs: Sequence[ParsedProgram], rules: Rules) -> list[Finding]:
    """Return the findings of the checks that ``rules`` switch on (``block`` or ``audit``); the others do not run."""
    on = {label for label in _NOTES if rules.actions.get(label, Action.ALLOW) is not Action.ALLOW}
    if not on:
        return []
    found = dict.fromkeys(place for program in programs for place in _places(payload, program, on))
    return [_finding(payload, label, start, end) for label, start, end in found]


def _places(payload: bytes, program: ParsedProgram, on: set[str]) -> Iterator[tuple[str, int, int]]:
    # The analyses are expensive to import and seldom switched on.
    if bidi.LABEL in on:
        from evalward.guard.admission.invisible import invisible_characters  # noqa: PLC0415 - see above

        yield from ((bidi.LABEL, *span) for span in invisible_characters(payload, limit=_LIMIT))
    if unbounded_loop.LABEL in on:
        from evalward.guard.checks.loops import unbounded_loops  # noqa: PLC0415 - see above

        yield from ((unbounded_loop.LABEL, *span) for span in unbounded_loops(program, limit=_LIMIT))
    if catastrophic_regex.LABEL in on:
        from evalward.guard.checks.backtracking import catastrophic_regexes  # noqa: PLC0415 - see above

        yield from ((catastrophic_regex.LABEL, *span) for span in catastrophic_regexes(program, limit=_LIMIT))


def _finding(payload: bytes, label: str, start: int, end: int) -> Finding:
    place = locate(payload, start, end)
    return Finding(label, place, (TraceStep(_NOTES[label], place),))
