"""Guards side by side as one HTML file: the scores, and the cases that they answer differently."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evalward.static_page import heading, key_figures, static_page, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evalward.corpus.side_by_side import Row, Score

MOST_ROWS: Final = 2_000


def compare_page(rows: Sequence[Row], found: Sequence[Score]) -> str:
    """Return the file's text; it repeats no payload."""
    differing = [row for row in rows if row.differs]
    figures = [
        (
            score.name,
            f"{100 * score.blocked / score.escapes:.1f} %" if score.escapes else "-",
            f"of the escapes blocked; {score.benign - score.allowed:,} benign payloads blocked",
        )
        for score in found
    ]
    return static_page(
        "Evalward: guards side by side",
        (
            heading(
                "Guards side by side",
                f"{len(rows):,} cases",
                "The cases are named by id; no payload is repeated.",
            ),
            key_figures(figures),
            *_scores(found),
            *_rows("Answered differently", differing, found),
        ),
    )


def _scores(found: Sequence[Score]) -> Iterator[str]:
    yield "<section>\n<h2>Scores</h2>\n"
    columns = ("Guard", "Escapes", "Blocked", "Missed", "Benign", "Allowed", "Wrongly blocked")
    rows = [
        (each.name, *(f"{number:,}" for number in (
            each.escapes, each.blocked, each.escapes - each.blocked,
            each.benign, each.allowed, each.benign - each.allowed,
        )))
        for each in found
    ]  # fmt: skip
    yield from table("Scores", columns, rows, range(1, len(columns)))
    yield "</section>\n"


def _rows(title: str, rows: Sequence[Row], found: Sequence[Score]) -> Iterator[str]:
    yield f"<section>\n<h2>{title}</h2>\n"
    if len(rows) > MOST_ROWS:
        yield f"<p class=about>The first {MOST_ROWS:,} of {len(rows):,}.</p>\n"
    columns = ("Case", "Target", "Must", *(each.name for each in found))
    answers = [
        (
            row.case.id,
            str(row.case.target),
            str(row.expected),
            *("allowed" if allowed else f"blocked: {why}" for allowed, why in row.answers),
        )
        for row in rows[:MOST_ROWS]
    ]
    yield from table(title, columns, answers)
    yield "</section>\n"
