"""A log in a folder of the test."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from process_chains import Clock

from evalward.audit import AuditKey, AuditLog


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


@pytest.fixture
def key() -> AuditKey:
    return AuditKey(bytes(range(32)))


@pytest.fixture
def log(path: Path) -> Iterator[AuditLog]:
    with AuditLog.open(path) as opened:
        yield opened


@pytest.fixture
def clock() -> Clock:
    return Clock()
