"""The view of a log that the page gets: latencies in steps, and how long exceptions last."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("uvicorn", reason="evalward[ui] is not installed")

from served import KEY, POLICY, audit_log

from evalward.audit.files import LogFile
from evalward.playground.log_view import LogView
from evalward.policy import Policy

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime(2026, 3, 1, tzinfo=UTC)
ENDS = {date(2026, 2, 27): -2, date(2026, 3, 1): 0, date(2026, 3, 31): 30, date(2026, 12, 1): 275}


def policy_with_exceptions() -> Policy:
    exceptions = [
        {
            "sha256": f"{number:064x}",
            "targets": ["renderer"],
            "constructs": ["string-timer"],
            "owner": "team",
            "reason": "a test",
            "expires": end.isoformat(),
        }
        for number, end in enumerate(ENDS)
    ]
    return Policy.model_validate({**POLICY.model_dump(), "exceptions": exceptions})


def test_an_exception_has_the_days_that_are_left(tmp_path: Path) -> None:
    audit_log(tmp_path / "log.jsonl", 3)

    view = LogView([LogFile.open(tmp_path / "log.jsonl")], KEY, policy_with_exceptions()).as_object(NOW)

    assert {row["until"]: row["days"] for row in view["exceptions"]} == {
        end.isoformat(): days for end, days in ENDS.items()
    }
    assert [row["state"] for row in view["exceptions"]] == [
        "expired",
        "ends within 30 days",
        "ends within 30 days",
        "unused in this period",
    ]


def test_every_decision_is_in_one_step_of_time(tmp_path: Path) -> None:
    view = audit_log(tmp_path / "log.jsonl", 400).as_object(NOW)

    assert sum(count for _, count in view["by_time"]) == 400
    assert [name for name, _ in view["by_time"]] == ["≤ 0.5 ms", "≤ 1 ms", "≤ 2 ms", "≤ 5 ms"]
    # The log has 0.3 ms and more, in steps of 37 µs below 2.3 ms.
    assert all(count for _, count in view["by_time"])


def test_a_log_without_decisions_has_no_times(tmp_path: Path) -> None:
    view = audit_log(tmp_path / "log.jsonl", 0).as_object(NOW)

    assert (view["by_time"], view["exceptions"]) == ([], [])
