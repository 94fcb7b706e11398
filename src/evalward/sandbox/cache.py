"""The cache of compiled modules, in a directory that only this user can write, since loading an entry executes it.

An entry is a JSON head line (layout of the guest, SHA-256 of the code) and the compiled code. Its name is a digest of
all inputs of the code, so that a new version never reads an old entry.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import tempfile
from pathlib import Path
from typing import Final

CACHE_VARIABLE: Final = "EVALWARD_CACHE_DIR"
_KEPT_ENTRIES: Final = 8


def cache_directory() -> Path | None:
    """Return the private cache directory, created if missing, or None if it cannot be created.

    ``EVALWARD_CACHE_DIR``, else ``$XDG_CACHE_HOME/evalward``, else ``~/.cache/evalward``. A directory that
    is a link, belongs to another user or is accessible to other users is not used: without a cache every
    start compiles, which is slow and safe.
    """
    named = os.environ.get(CACHE_VARIABLE)
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        path = Path(named) if named else (Path(base) if base else Path.home() / ".cache") / "evalward"
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        about = path.lstat()
    except (OSError, RuntimeError):  # RuntimeError: no home directory
        return None
    private = stat.S_ISDIR(about.st_mode) and about.st_uid == os.geteuid() and not about.st_mode & 0o077
    return path if private else None


def load(directory: Path, key: str) -> tuple[dict[str, int], bytes] | None:
    """Return (layout, compiled code) of the entry ``key``, or None when it is missing or damaged."""
    try:
        descriptor = os.open(directory / f"{key}.guest", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            if os.fstat(file.fileno()).st_uid != os.geteuid():
                return None
            head, code = json.loads(file.readline()), file.read()
        layout = {str(name): int(value) for name, value in head["layout"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return (layout, code) if head.get("sha256") == hashlib.sha256(code).hexdigest() else None


def store(directory: Path, key: str, layout: dict[str, int], code: bytes) -> None:
    """Write the entry ``key`` atomically; a directory that is not writable is not an error."""
    head = json.dumps({"layout": layout, "sha256": hashlib.sha256(code).hexdigest()}).encode()
    with contextlib.suppress(OSError):
        descriptor, name = tempfile.mkstemp(dir=directory, prefix=".guest-")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(head + b"\n" + code)
            Path(name).replace(directory / f"{key}.guest")
            _prune(directory)
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise


def _prune(directory: Path) -> None:
    """Remove all but the newest entries: every release leaves some megabytes of unused entries."""
    entries = sorted(directory.glob("*.guest"), key=lambda entry: entry.stat().st_mtime_ns, reverse=True)
    for entry in entries[_KEPT_ENTRIES:]:
        entry.unlink(missing_ok=True)
