"""A verdict as text: the place, the construct, the trace of the value, and the next actions."""

from __future__ import annotations

import re
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from evalward.cli.excerpt import excerpt
from evalward.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from evalward.cli.checked import Checked
    from evalward.guard.verdict import Finding, Location, Verdict


_KEPT: Final = re.compile(r" *\d* *(\||-->|=) |sha256:")
"""The beginning of lines that are not wrapped: an excerpt, a place, a step of a trace, a digest."""


def print_verdict(payload: bytes, verdict: Verdict, envelope: dict[str, Any], *, artifact: str = "-") -> None:
    """Print ``verdict``, with the line, a caret and the trace of each finding, to standard output.

    ``artifact`` is the payload's file. Prose is wrapped between words; lines of source and paths are kept whole.
    """
    console = Console(file=sys.stdout, highlight=False)
    for line in verdict_lines(payload, verdict, envelope, artifact=artifact):
        prose = console.is_terminal and _KEPT.match(line.plain) is None
        for part in _wrapped(line, console) if prose else [line]:
            console.print(part, soft_wrap=True)


def print_checked(checked: Checked) -> None:
    """Print the verdict on a payload, and below it the preview of a fix."""
    name = checked.payload.name
    print_verdict(checked.payload.code, checked.verdict, checked.envelope, artifact=name)
    if checked.fix is not None:
        console = Console(file=sys.stdout, highlight=False)
        for line in checked.fix.lines(name):
            console.print(line, soft_wrap=True)


def print_by_file(found: Sequence[Checked]) -> None:
    """Print the payloads with something to say, each under its name, and then a line with the totals."""
    console = Console(file=sys.stdout, highlight=False)
    for each in found:
        if not each.verdict.allowed or each.verdict.shadow:
            console.print(Text(printable(each.payload.name), "bold underline"), soft_wrap=True)
            print_checked(each)
            console.print()
    console.print(Text(totals(found)), soft_wrap=True)


def totals(found: Sequence[Checked]) -> str:
    """Return one line: how many payloads were judged, and what was found in them."""
    denied = [each.verdict for each in found if not each.verdict.allowed]
    payloads = f"{len(found):,} payload{'s' * (len(found) != 1)}"
    if not denied:
        return f"{payloads}: all allowed"
    names: Counter[str] = Counter()
    for verdict in denied:
        listed = [each.name for each in verdict.findings] or [str(verdict.code)]
        names.update(listed)
        if verdict.findings_total > len(listed):
            names["not listed"] += verdict.findings_total - len(listed)
    findings = ", ".join(f"{printable(name)} {count}" for name, count in names.most_common())
    return f"{payloads}: {len(found) - len(denied):,} allowed, {len(denied):,} blocked ({findings})"


def _wrapped(line: Text, console: Console) -> Iterable[Text]:
    """Wrap ``line`` to the terminal's width; words are never cut."""
    indent = len(line.plain) - len(line.plain.lstrip())
    width = max(console.width - indent, 1)
    words = Text(line.plain[indent:], style=line.style)
    for span in line.spans:
        words.stylize(span.style, max(span.start - indent, 0), max(span.end - indent, 0))
    for part in words.wrap(
        console, max(width, max(map(cell_len, words.plain.split()), default=1)), no_wrap=False
    ):
        part.rstrip()
        yield Text(" " * indent).append_text(part)


def verdict_lines(
    payload: bytes, verdict: Verdict, envelope: dict[str, Any], *, artifact: str = "-"
) -> Iterator[Text]:
    """Yield the lines of ``print_verdict``, without terminal control characters."""
    how = f"sink {verdict.sink}" if verdict.sink else f"shape {verdict.shape or 'any'}"
    where = f"target {verdict.target}, {how}, profile {verdict.profile}"
    if verdict.allowed:
        yield Text.assemble(("allowed", "bold green"), f"  {where}")
        if verdict.exception_id:
            yield Text(f"permitted by the policy's exception {verdict.exception_id}", "yellow")
        if verdict.withheld:
            yield Text(f"enforced, it would be denied with {verdict.withheld.code}", "yellow")
    else:
        about = verdict.construct or verdict.keyword
        yield Text.assemble(
            ("blocked", "bold red"), f"  {verdict.code}", (f"  {printable(about)}" if about else "", "bold")
        )
        yield Text(f"  {where}", "dim")
        yield Text(f"  {printable(str(envelope['error']))}")
    for location, finding in _places(verdict):
        yield from _place(payload, location, finding, artifact)
    for finding in verdict.shadow:
        yield Text(f"only audited: {printable(finding.construct)}", "yellow")
        if finding.location:
            yield from _place(payload, finding.location, finding, artifact)
    if not verdict.allowed:
        yield Text(f"hint: {printable(str(envelope['hint']))}")
        for action in envelope.get("next_actions", ()):
            yield Text(f"next: {printable(str(action))}")
    yield Text(f"sha256: {verdict.code_hash}", "dim")


def trace_lines(finding: Finding) -> Iterator[str]:
    """Yield the steps of a value's trace, each with its place."""
    for step in finding.trace:
        place = f"{step.location.line}:{step.location.column}" if step.location else ""
        yield f"{place:>7}  {printable(step.note)}"


def _places(verdict: Verdict) -> Iterator[tuple[Location, Finding | None]]:
    """Yield the verdict's own place first, then that of every other finding."""
    first = next((f for f in verdict.findings if f.location == verdict.location), None)
    if verdict.location is not None:
        yield verdict.location, first
    for finding in verdict.findings:
        if finding is not first and finding.location is not None:
            yield finding.location, finding


def _place(payload: bytes, location: Location, finding: Finding | None, artifact: str) -> Iterator[Text]:
    shown = excerpt(payload, location)
    number = str(location.line)
    margin = " " * len(number)
    named = f"  {printable(finding.keyword or finding.construct)}" if finding else ""
    yield Text(f" {margin}--> {printable(artifact)}:{location.line}:{location.column}{named}", "cyan")
    yield Text.assemble((f" {number} | ", "cyan"), shown.source)
    yield Text.assemble((f" {margin} | ", "cyan"), (shown.carets, "bold red"))
    for line in trace_lines(finding) if finding else ():
        yield Text.assemble((f" {margin} = ", "cyan"), line)
