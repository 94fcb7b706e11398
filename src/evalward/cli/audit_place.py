"""The default place of the audit log."""

from __future__ import annotations

import os
from pathlib import Path


def default_audit_log() -> Path:
    """Return the path of the log in the XDG base directory for state."""
    return _state_directory() / "audit.jsonl"


def own_audit_log() -> Path:
    """Return the path of another log in its directory that no other running process writes, and make its directory."""
    folder = _state_directory()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder / f"audit.{os.getpid()}.jsonl"


def _state_directory() -> Path:
    home = os.environ.get("XDG_STATE_HOME")
    return (Path(home) if home else Path.home() / ".local" / "state") / "evalward"
