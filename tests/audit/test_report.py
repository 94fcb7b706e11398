"""The report of a log: its figures, what it says of the chain, and hostile records."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from evalward.audit import AuditKey, AuditLog, AuditRecord, Kind, Outcome
from evalward.audit.activity import Activity
from evalward.audit.chain import GENESIS, Head, link, members
from evalward.audit.files import LogFile
from evalward.audit.read import records, summary
from evalward.audit.record_values import Reason
from evalward.audit.report.facts import OTHERS, facts_of
from evalward.audit.report.markdown import markdown
from evalward.audit.report.page import page
from evalward.audit.report.proof import proof_of, unverified
from evalward.audit.verify import verify
from evalward.errors import Code
from evalward.guard.target import Target
from evalward.policy.enforcement import PolicyException

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

DATA = Path(__file__).parents[1] / "data"
KEY = AuditKey(bytes(range(32)))
NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)
CONSTRUCTS = ["process.exit", "eval()", "Function()", "network", "string-timer", "process", "with", "Worker"]
HOSTILE = [each["text"] for each in yaml.safe_load(DATA.joinpath("hostile_display.yaml").read_text("utf-8"))]
VETTED = "a" * 64


def decision(number: int, **fields: Any) -> AuditRecord:
    """Return a denial for every third number, else an allow."""
    denied = number % 3 == 0
    return AuditRecord(
        kind=Kind.DECISION,
        decision_id=f"{number:032x}",
        outcome=Outcome.DENY if denied else Outcome.ALLOW,
        code=Code.EVAL_BLOCKED_CONSTRUCT if denied else None,
        construct=CONSTRUCTS[number % 4] if denied else None,
        tool=f"tool_{number % 2}",
        principal="cert:dispatcher",
        target=Target.RENDERER,
        code_hash=f"{number % 100:064x}",
        elapsed_us=100 * (number + 1),
        **fields,
    )


def exception(**fields: Any) -> PolicyException:
    given = {
        "sha256": VETTED,
        "targets": ["renderer"],
        "constructs": ["network"],
        "reason": "reviewed",
        "owner": "qa",
        "expires": date(2026, 5, 20),
    }
    return PolicyException.model_validate(given | fields)


def log_of(path: Path, found: Iterable[AuditRecord], *, hours: int = 1) -> LogFile:
    head = Head("0" * 32, 0, GENESIS)
    with path.open("wb") as out:
        for number, record in enumerate(found):
            moment = int(NOW.timestamp() + 3600 * hours * number) * 10**9
            line, head = link(head, members(record), boot_id="0" * 32, key=KEY, nanoseconds=moment)
            out.write(line)
    return LogFile.open(path)


def activity_of(found: Iterable[dict[str, Any]]) -> Activity:
    activity = Activity()
    for record in found:
        activity.add(record)
    return activity


def rendered(activity: Activity, **more: Any) -> tuple[Any, str, str]:
    facts = facts_of(activity, more.pop("proof", unverified("k")), files=["audit.jsonl"], now=NOW, **more)
    return facts, page(facts), markdown(facts)


class Text(HTMLParser):
    """Collects the elements, and the cells of each table as text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.rows: list[list[str]] = []
        self.cell = False
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert not [name for name, _ in attrs if name.startswith("on") or name in {"style", "src"}]
        if tag == "tr":
            self.rows.append([])
        elif tag in {"td", "th"}:
            self.rows[-1].append("")
            self.cell = True

    def handle_endtag(self, tag: str) -> None:
        self.cell = self.cell and tag not in {"td", "th"}

    def handle_data(self, data: str) -> None:
        if self.cell:
            self.rows[-1][-1] += data.strip()


def test_the_figures_are_those_of_the_summary(tmp_path: Path) -> None:
    found = [AuditRecord(kind=Kind.START, version="0.1.0", weakened=("enforcement-audit=renderer",))]
    found += [decision(number) for number in range(200)]
    found.append(AuditRecord(kind=Kind.GAP, reason=Reason.FULL, unrecorded=3, gap_us=2_000_000))
    log = log_of(tmp_path / "a.jsonl", found)
    activity = Activity()

    verified = verify([log], key=KEY, seen=activity.add)

    counted = summary(records(log.lines()))
    facts, html, text = rendered(activity, proof=proof_of(verified, heads_given=False))
    assert facts.counts == counted
    assert dict(facts.reasons) == counted["denied_by_construct"]
    assert sum(map(sum, facts.series.denied.values())) == counted["decisions"]["denied"] == 67
    assert sum(facts.series.decisions) == sum(counted["decisions"].values()) == 200
    assert {name: calls for name, _, calls in facts.tools} == counted["tools"]
    assert (facts.latency_ms["p50"], facts.latency_ms["max"]) == (10.0, 20.0)
    rows = Text(html).rows
    for name, count in counted["denied_by_construct"].items():
        assert [row[1] for row in rows if row[0] == name] == [str(count)]
        assert f"| {name} | {count} |" in text.replace("\\", "")
    assert ["enforcement-audit=renderer", "in force"] in rows
    assert ["2026-05-12 21:00", "full", "3", "0", "2.0"] in rows


@pytest.mark.parametrize(("hours", "unit"), [(1, "hour"), (2, "day"), (60, "week"), (24 * 365, "16 weeks")])
def test_the_steps_of_the_chart_fit_the_period(hours: int, unit: str, tmp_path: Path) -> None:
    log = log_of(tmp_path / "a.jsonl", map(decision, range(60)), hours=hours)

    facts, _, _ = rendered(activity_of(records(log.lines())))

    assert facts.series.unit == unit
    assert len(facts.series.begins) <= 210
    assert sum(facts.series.decisions) == 60


def test_rare_reasons_are_one_series() -> None:
    found = [
        {"kind": "decision", "ts": "2026-05-04T12:00:00Z", "outcome": "deny", "construct": f"c{number % 12}"}
        for number in range(100)
    ]

    facts, _, _ = rendered(activity_of(found))

    assert len(facts.series.denied) == 7
    assert sum(map(sum, facts.series.denied.values())) == 100
    assert facts.series.denied[OTHERS] == (sum(count for _, count in facts.reasons[6:]),)


def test_a_payload_that_was_denied_and_then_permitted_is_a_candidate() -> None:
    allow = {"kind": "decision", "outcome": "allow", "code_hash": VETTED, "exception_id": exception().id}
    deny = {"kind": "decision", "outcome": "deny", "code_hash": VETTED, "construct": "network"}
    other = {**deny, "code_hash": "b" * 64}
    found = [deny, other, deny, allow, allow, {**allow, "code_hash": "c" * 64}]

    activity = activity_of({"ts": f"2026-05-04T12:0{n}:00Z", **each} for n, each in enumerate(found))
    facts, html, _ = rendered(
        activity, exceptions=[exception(), exception(owner="ops", expires=date(2027, 1, 1))]
    )

    ((digest, candidate),) = facts.candidates
    assert (digest, candidate.count, candidate.allowed_by) == (VETTED, 2, exception().id)
    assert candidate.allowed_at == "2026-05-04T12:03:00Z"
    assert [(row.owner, row.state, row.used) for row in facts.exceptions] == [
        ("qa", "ends within 30 days", 3),
        ("ops", "unused in this period", 0),
    ]
    assert [row for row in Text(html).rows if row[0] == VETTED[:12]] != []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda data: data, "Whole, tamper-evident."),
        (lambda data: data.replace(b'"seq":3,', b'"seq":3, '), "edited"),
        (lambda data: b"".join(data.splitlines(keepends=True)[2:]), "removed"),
    ],
)
def test_the_report_says_what_the_chain_proves(
    change: Callable[[bytes], bytes], said: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.jsonl"
    log_of(path, map(decision, range(10)))
    path.write_bytes(change(path.read_bytes()))

    proof = proof_of(verify([LogFile.open(path)], key=KEY), heads_given=False)

    _, html, text = rendered(Activity(), proof=proof)
    whole = said.startswith("Whole")
    assert proof.whole is whole
    assert said in html
    assert "cut off at the very end" in html or not whole
    assert "Not proven" in text


def test_a_log_without_a_key_promises_less(tmp_path: Path) -> None:
    with AuditLog.open(tmp_path / "plain.jsonl") as log:
        log.append(decision(1))
    found = verify([LogFile.open(tmp_path / "plain.jsonl")])

    said = " ".join(proof_of(found, heads_given=False).not_proven)

    assert "recomputes the chain is not visible" in said
    assert "cut off" not in " ".join(proof_of(found, heads_given=True).not_proven)


def test_hostile_records_are_shown_as_text() -> None:
    texts = [*HOSTILE, "x" * 1_000_000]
    found = []
    for text in texts:
        fields = (
            "ts",
            "construct",
            "tool",
            "principal",
            "code_hash",
            "exception_id",
            "version",
            "reason",
            "code",
        )
        for outcome in ("allow", "deny", text):
            decided = {"kind": "decision", "outcome": outcome, "shadow": [text]}
            found.append({**dict.fromkeys(fields, text), **decided})
        found.append({"kind": "gap", **dict.fromkeys(fields, text), "unrecorded": text})
        found.append({"kind": "start", "ts": text, "weakened": [text]})
    odd: list[Any] = [[], {}, None, True, -1, 1e400, 2**70]
    found += [
        {"kind": "decision", "outcome": "deny", "ts": each, "construct": each, "elapsed_us": each}
        for each in odd
    ]
    found += [{"kind": each, "weakened": each, "unrecorded": each} for each in odd]

    _, html, text = rendered(activity_of(found))

    read = Text(html)
    assert not {"script", "img", "iframe", "a", "link"} & {*read.tags}
    assert len(html) < 300_000
    for shown in (html, text):
        assert [char for char in shown if not char.isprintable() and char != "\n"] == []
    assert "<script" not in re.sub(r"\\(.)", "", text)


@pytest.mark.exhaustive
def test_a_hundred_thousand_records_are_one_page(tmp_path: Path) -> None:
    """How long they take is printed by ``benchmarks/audit.py``."""
    log = log_of(tmp_path / "a.jsonl", map(decision, range(100_000)))
    activity = Activity()

    verified = verify([log], key=KEY, seen=activity.add)
    facts, html, text = rendered(activity, proof=proof_of(verified, heads_given=False))

    assert verified.records == facts.decisions == 100_000
    assert max(len(html), len(text)) < 300_000
