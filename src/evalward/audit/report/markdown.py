"""A report as Markdown (GitHub's tables)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from evalward.audit.report.tables import figures, steps_of, tables
from evalward.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evalward.audit.report.facts import Facts

_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>#|~!&()])")
_LONGEST: Final = 200


def markdown(facts: Facts) -> str:
    """Return the report; no text of the log is markup in it."""
    return "\n".join(_lines(facts)) + "\n"


def _lines(facts: Facts) -> Iterator[str]:
    since = f" (asked for since {facts.asked_since})" if facts.asked_since else ""
    yield "# Audit report"
    yield ""
    yield f"From {_text(facts.begins or '-')} to {_text(facts.ends or '-')}{since}."
    yield f"Made {facts.made} from {_text(', '.join(facts.files))}."
    yield ""
    yield from _table(("", "", ""), [(name, value, about) for name, value, about in figures(facts)], (1,))
    yield ""
    yield "## The log"
    yield ""
    yield _text(facts.proof.state, longest=1000)
    for title, lines in (("Proven", facts.proof.proven), ("Not proven", facts.proof.not_proven)):
        if lines:
            yield ""
            yield f"{title}:"
            yield ""
            yield from (f"- {_text(line)}" for line in lines)
    for head in facts.proof.heads:
        yield f"- head `{head}`"
    yield ""
    yield f"## Denials by {facts.series.unit}"
    yield ""
    columns = ("Time, UTC", "Calls", *facts.series.denied)
    yield from _table(columns, steps_of(facts.series), range(1, len(columns)))
    for table in tables(facts):
        yield ""
        yield f"## {table.title}"
        yield ""
        if table.about:
            yield table.about
            yield ""
        if table.rows:
            yield from _table(table.columns, table.rows, table.numeric)
        else:
            yield table.empty


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[int]) -> Iterator[str]:
    yield f"| {' | '.join(map(_text, columns))} |"
    yield f"|{'|'.join('---:' if place in numeric else '---' for place in range(len(columns)))}|"
    for row in rows:
        yield f"| {' | '.join(map(_text, row))} |"


def _text(text: str, *, longest: int = _LONGEST) -> str:
    cut = text if len(text) <= longest else text[: longest - 1] + "…"
    return _SPECIAL.sub(r"\\\1", printable(cut))
