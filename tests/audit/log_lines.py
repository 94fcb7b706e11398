"""Records to write, and the lines of a log afterwards."""

import json
from pathlib import Path
from typing import Any

from evalward.audit import AuditRecord, Kind, Outcome

ALLOW = AuditRecord(kind=Kind.DECISION, outcome=Outcome.ALLOW, decision_id="d1")
START = AuditRecord(kind=Kind.START, version="0.1.0")
STOP = AuditRecord(kind=Kind.STOP, version="0.1.0")


def lines(path: Path) -> list[Any]:
    data = path.read_bytes()
    assert data == b"" or data.endswith(b"\n")
    return [json.loads(line) for line in data.splitlines()]


def kinds(path: Path) -> list[str]:
    """Return the kinds of the records, "-" for a line that is none."""
    found = []
    for line in path.read_bytes().splitlines():
        try:
            found.append(json.loads(line)["kind"])
        except ValueError:
            found.append("-")
    return found
