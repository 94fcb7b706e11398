"""Where a test's log is, and its key."""

from pathlib import Path

import pytest

from evalward.audit import AuditKey


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


@pytest.fixture
def key() -> AuditKey:
    return AuditKey(bytes(range(32)))
