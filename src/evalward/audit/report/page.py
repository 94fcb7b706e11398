"""A report as one HTML file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evalward.audit.report.chart import chart
from evalward.audit.report.tables import figures, steps_of, tables
from evalward.static_page import heading, key_figures, shown, static_page, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evalward.audit.report.facts import Facts
    from evalward.audit.report.proof import Proof
    from evalward.audit.report.tables import Table

_NARROW: Final = 4
"""Tables of at most so many columns share a row of the page."""


def page(facts: Facts) -> str:
    """Return the file's text."""
    period = f"{_day(facts.begins)} to {_day(facts.ends)}"
    since = f", asked for since {facts.asked_since}" if facts.asked_since else ""
    about = (
        f"Records from {facts.begins or 'none'} to {facts.ends or 'none'}{since}. "
        f"Made {facts.made} from {', '.join(facts.files)}."
    )
    return static_page(
        f"Evalward audit report, {period}",
        (
            heading("Audit report", period, about),
            key_figures(figures(facts)),
            *_proof(facts.proof),
            *_over_time(facts),
            *_sections([*tables(facts)]),
        ),
    )


def _proof(proof: Proof) -> Iterator[str]:
    state = {True: "good", False: "bad", None: "unknown"}[proof.whole]
    yield f'<section class="proof {state}">\n<h2>The log</h2>\n<p class=state>{shown(proof.state, 1000)}</p>\n'
    yield "<div class=columns>\n"
    for title, lines in (("Proven", proof.proven), ("Not proven", proof.not_proven)):
        if lines:
            items = "".join(f"<li>{shown(line, 1000)}</li>" for line in lines)
            yield f"<div><h3>{title}</h3><ul>{items}</ul></div>\n"
    yield "</div>\n"
    for head in proof.heads:
        yield f"<p class=head>head <code>{shown(head)}</code></p>\n"
    yield "</section>\n"


def _over_time(facts: Facts) -> Iterator[str]:
    series = facts.series
    yield f"<section>\n<h2>Denials by {series.unit}</h2>\n"
    if not series.denied:
        yield "<p>None.</p>\n</section>\n"
        return
    yield f"<figure>\n<div class=scroll tabindex=0 role=region aria-label=Chart>{chart(series)}</div>\n"
    yield "<figcaption><ul class=legend>"
    for place, (name, counts) in enumerate(series.denied.items()):
        yield f'<li><svg viewBox="0 0 10 10" aria-hidden="true"><rect class="s{place}" width="10" height="10"/></svg>'
        yield f"{shown(name)} <b>{sum(counts):,}</b></li>"
    yield "</ul></figcaption>\n</figure>\n<details>\n<summary>The same as a table</summary>\n"
    columns = ("Time, UTC", "Calls", *series.denied)
    yield from table("Denials over time", columns, steps_of(series), range(1, len(columns)))
    yield "</details>\n</section>\n"


def _sections(found: Sequence[Table]) -> Iterator[str]:
    """Yield the tables; adjacent ones of few columns share a row."""
    open_row = False
    for each in found:
        narrow = len(each.columns) <= _NARROW
        if narrow is not open_row:
            yield "<div class=columns>\n" if narrow else "</div>\n"
            open_row = narrow
        yield f"<section>\n<h2>{each.title}</h2>\n"
        if each.about:
            yield f"<p class=about>{each.about}</p>\n"
        if each.rows:
            yield from table(each.title, each.columns, each.rows, each.numeric, each.share)
        else:
            yield f"<p>{each.empty}</p>\n"
        yield "</section>\n"
    if open_row:
        yield "</div>\n"


def _day(moment: str | None) -> str:
    return (moment or "no records")[:10]
