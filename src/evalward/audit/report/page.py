"""A report as one HTML file without script, and without any request: it can be mailed, archived and printed."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from evalward.audit.report.chart import chart
from evalward.audit.report.tables import figures, steps_of, tables
from evalward.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evalward.audit.report.facts import Facts
    from evalward.audit.report.proof import Proof
    from evalward.audit.report.tables import Table

_LONGEST: Final = 200
_MINUTE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}")
_NARROW: Final = 4
"""Tables of at most so many columns share a row of the page."""


def page(facts: Facts) -> str:
    """Return the file's text; its policy of contents permits its own style sheet and nothing else."""
    style = files("evalward.audit.report").joinpath("page.css").read_text("utf-8")
    digest = b64encode(sha256(style.encode()).digest()).decode()
    permitted = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return "".join(
        (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
            f'<meta http-equiv="Content-Security-Policy" content="{permitted}">\n',
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
            f"<title>Evalward audit report, {_shown(_day(facts.begins))} to {_shown(_day(facts.ends))}</title>\n",
            f"<style>{style}</style>\n</head>\n<body>\n<main>\n",
            *_header(facts),
            *_proof(facts.proof),
            *_over_time(facts),
            *_sections([*tables(facts)]),
            "</main>\n</body>\n</html>\n",
        )
    )


def _header(facts: Facts) -> Iterator[str]:
    since = f", asked for since {facts.asked_since}" if facts.asked_since else ""
    yield "<header>\n<p class=brand>Evalward</p>\n<h1>Audit report</h1>\n"
    yield f"<p class=period>{_shown(_day(facts.begins))} to {_shown(_day(facts.ends))}</p>\n"
    yield (
        f"<p class=made>Records from {_shown(facts.begins or 'none')} to {_shown(facts.ends or 'none')}{since}. "
        f"Made {facts.made} from {_shown(', '.join(facts.files))}.</p>\n</header>\n"
    )
    yield "<dl class=figures>\n"
    for name, value, about in figures(facts):
        yield f"<div><dt>{name}</dt><dd class=value>{value}</dd><dd>{about}</dd></div>\n"
    yield "</dl>\n"


def _proof(proof: Proof) -> Iterator[str]:
    state = {True: "good", False: "bad", None: "unknown"}[proof.whole]
    yield f'<section class="proof {state}">\n<h2>The log</h2>\n<p class=state>{_shown(proof.state, 1000)}</p>\n'
    yield "<div class=columns>\n"
    for title, lines in (("Proven", proof.proven), ("Not proven", proof.not_proven)):
        if lines:
            items = "".join(f"<li>{_shown(line, 1000)}</li>" for line in lines)
            yield f"<div><h3>{title}</h3><ul>{items}</ul></div>\n"
    yield "</div>\n"
    for head in proof.heads:
        yield f"<p class=head>head <code>{_shown(head)}</code></p>\n"
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
        yield f"{_shown(name)} <b>{sum(counts):,}</b></li>"
    yield "</ul></figcaption>\n</figure>\n<details>\n<summary>The same as a table</summary>\n"
    columns = ("Time, UTC", "Calls", *series.denied)
    yield from _table("Denials over time", columns, steps_of(series), range(1, len(columns)))
    yield "</details>\n</section>\n"


def _sections(found: Sequence[Table]) -> Iterator[str]:
    """Yield the tables; adjacent ones of few columns share a row."""
    open_row = False
    for table in found:
        narrow = len(table.columns) <= _NARROW
        if narrow is not open_row:
            yield "<div class=columns>\n" if narrow else "</div>\n"
            open_row = narrow
        yield f"<section>\n<h2>{table.title}</h2>\n"
        if table.about:
            yield f"<p class=about>{table.about}</p>\n"
        if table.rows:
            yield from _table(table.title, table.columns, table.rows, table.numeric, table.share)
        else:
            yield f"<p>{table.empty}</p>\n"
        yield "</section>\n"
    if open_row:
        yield "</div>\n"


def _table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    numeric: Sequence[int],
    share: int | None = None,
) -> Iterator[str]:
    yield f'<div class=scroll tabindex=0 role=region aria-label="{title}"><table>\n<thead><tr>'
    for place, name in enumerate(columns):
        yield f"<th scope=col{' class=number' if place in numeric else ''}>{_shown(name)}</th>"
    yield "</tr></thead>\n<tbody>\n"
    most = max((_number(row[share]) for row in rows), default=0) if share is not None else 0
    for row in rows:
        yield "<tr>"
        for place, text in enumerate(row):
            bar = _bar(_number(text), most) if place == share else ""
            kind = " class=number" if place in numeric else " class=when" if _MINUTE.fullmatch(text) else ""
            yield f"<td{kind}>{bar}{_shown(text)}</td>"
        yield "</tr>\n"
    yield "</tbody>\n</table></div>\n"


def _bar(value: int, most: int) -> str:
    width = 60 * value / most if most else 0
    return (
        '<svg class=bar viewBox="0 0 60 8" aria-hidden="true">'
        f'<rect x="{60 - width:.1f}" width="{width:.1f}" height="8"/></svg>'
    )


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def _day(moment: str | None) -> str:
    return (moment or "no records")[:10]


def _shown(text: str, longest: int = _LONGEST) -> str:
    """Return a text of the log as text: escaped for HTML, without invisible characters, cut."""
    cut = text if len(text) <= longest else text[: longest - 1] + "…"
    return escape(printable(cut))
