"""The sections of a report: titles, explanations and tables, which both pages lay out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evalward.audit.report.facts import MOST_ROWS, lost

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from evalward.audit.report.facts import Facts, Series

_HASH: Final = 12
MOST_LISTED: Final = 100


@dataclass(frozen=True, slots=True)
class Table:
    """A table with its heading; ``numeric`` are the columns of numbers, ``empty`` is said instead of no rows."""

    title: str
    about: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[int, ...] = ()
    empty: str = "None."
    share: int | None = None
    """The column whose numbers are also drawn as bars."""


def figures(facts: Facts) -> tuple[tuple[str, str, str], ...]:
    """Return the key figures: name, number, and what it is."""
    decisions = facts.counts["decisions"]
    audited = sum(facts.counts["would_block"].values())
    return (
        ("Calls", f"{facts.decisions:,}", "payloads judged, and requests rejected"),
        ("Allowed", f"{decisions['allowed']:,}", _part(decisions["allowed"], facts.decisions)),
        ("Denied", f"{decisions['denied']:,}", _part(decisions["denied"], facts.decisions)),
        ("Errors", f"{decisions['errors']:,}", "denied because something failed"),
        ("Only audited", f"{audited:,}", "findings that the policy only reports"),
        ("Not recorded", f"{facts.counts['unrecorded']:,}", "records lost in gaps"),
    )


def steps_of(series: Series) -> list[tuple[str, ...]]:
    """Return the rows of a table over time: the moment, all answers, and the denials of each series."""
    return [
        (begin, f"{series.decisions[step]:,}", *(f"{counts[step]:,}" for counts in series.denied.values()))
        for step, begin in enumerate(series.begins)
    ]


def tables(facts: Facts) -> Iterator[Table]:
    """Yield the sections in their order."""
    denied = facts.counts["decisions"]["denied"] + facts.counts["decisions"]["errors"]
    yield Table(
        "Denials by reason",
        "The construct, the word of the blocklist (keyword:), or the code if there is neither.",
        ("Reason", "Denials", "Share"),
        tuple((name, f"{count:,}", _share(count, denied)) for name, count in facts.reasons[: 2 * MOST_ROWS]),
        numeric=(1, 2),
        share=1,
    )
    yield Table(
        "Denials by code",
        "",
        ("Code", "Denials"),
        _counted(facts.counts["denied_by_code"].items()),
        numeric=(1,),
    )
    yield Table(
        "Denials by target",
        "",
        ("Target", "Denials"),
        _counted(facts.counts["denied_by_target"].items()),
        (1,),
    )
    for what, rows in (("tools", facts.tools), ("callers", facts.principals)):
        yield Table(
            f"Most denied {what}",
            f"At most {MOST_ROWS}, with all of their calls.",
            (what[:-1].capitalize(), "Denied", "Calls", "Share"),
            tuple((name, f"{no:,}", f"{calls:,}", _share(no, calls)) for name, no, calls in rows),
            numeric=(1, 2, 3),
            share=1,
        )
    yield Table(
        "False-positive candidates",
        "Payloads that were denied, and later permitted by an exception: what they do may be ordinary here."
        + (f" {facts.candidates_total:,} in all." if facts.candidates_total > len(facts.candidates) else ""),
        ("Payload", "Denied", "For", "First", "Permitted", "Exception"),
        tuple(
            (
                digest[:_HASH],
                f"{each.count:,}",
                ", ".join(name for name, _ in each.reasons.most_common(3)),
                _minute(each.first),
                _minute(each.allowed_at or ""),
                each.allowed_by or "",
            )
            for digest, each in facts.candidates
        ),
        numeric=(1,),
    )
    yield Table(
        "Exceptions",
        "Vetted payloads that the policy permits until a day. Owner and end are those of the policy file.",
        ("Exception", "State", "Owner", "Until", "Used", "Last used", "Reason"),
        tuple(
            (row.id, row.state, row.owner, row.expires, f"{row.used:,}", _minute(row.last), row.reason)
            for row in facts.exceptions
        ),
        numeric=(4,),
    )
    yield Table(
        "Weakened controls",
        "What the policy and the settings make weaker than the default, by the last start or policy of the log.",
        ("Control", "State"),
        (
            *((name, "in force") for name in facts.weakened),
            *((name, "earlier in this period") for name in facts.weakened_before),
        ),
    )
    yield Table(
        "Gaps",
        "Times when the log could not be written. Nothing is allowed without a record; denials may be missing.",
        ("Time", "Reason", "Not recorded", "Unacknowledged", "Seconds"),
        tuple(
            (_minute(ts), reason, f"{unrecorded:,}", f"{unacknowledged:,}", f"{seconds:,.1f}")
            for ts, reason, unrecorded, unacknowledged, seconds in map(lost, facts.gaps[-MOST_LISTED:])
        ),
        numeric=(2, 3, 4),
    )
    yield Table(
        "Time of a decision",
        "In milliseconds, in the server.",
        ("Percentile", "ms"),
        tuple((name, f"{value:,.2f}") for name, value in facts.latency_ms.items()),
        numeric=(1,),
    )
    yield Table(
        "What decided",
        "",
        ("Version", "Ruleset", "Policy", "Decisions"),
        tuple(
            (version, ruleset[:_HASH], policy[:_HASH], f"{count:,}")
            for version, ruleset, policy, count in facts.versions
        ),
        numeric=(3,),
    )


def _counted(counts: Iterable[tuple[str, int]]) -> tuple[tuple[str, ...], ...]:
    return tuple((name, f"{count:,}") for name, count in counts)


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else ""


def _part(part: int, whole: int) -> str:
    return f"{_share(part, whole)} of the calls" if whole else "of no calls"


def _minute(moment: str) -> str:
    return moment[:16].replace("T", " ")
