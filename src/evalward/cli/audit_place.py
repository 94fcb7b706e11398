"""The default place of the audit log."""

from __future__ import annotations

import os
from pathlib import Path


def default_audit_log() -> Path:
    """Return the path of the log in the XDG base directory for state."""
    home = os.environ.get("XDG_STATE_HOME")
    return (Path(home) if home else Path.home() / ".local" / "state") / "evalward" / "audit.jsonl"
