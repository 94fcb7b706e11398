"""Records to write, and the lines of a log afterwards."""

import json
from pathlib import Path
from typing import Any

from evalward.audit import AuditRecord, Kind, Outcome
from evalward.audit.chain import Head, read_line

ALLOW = AuditRecord(kind=Kind.DECISION, outcome=Outcome.ALLOW, decision_id="d1")
START = AuditRecord(kind=Kind.START, version="0.1.0")
STOP = AuditRecord(kind=Kind.STOP, version="0.1.0")


def lines(path: Path) -> list[Any]:
    data = path.read_bytes()
    assert data == b"" or data.endswith(b"\n")
    return [json.loads(line) for line in data.splitlines()]


def kinds(path: Path) -> list[str]:
    """Return the kinds of the records, "-" for a line that is not a record."""
    found = []
    for line in path.read_bytes().splitlines():
        try:
            found.append(json.loads(line)["kind"])
        except ValueError:
            found.append("-")
    return found


def head_of(line: bytes) -> Head:
    read = read_line(line.rstrip(b"\n"))
    assert read is not None
    return read.head
