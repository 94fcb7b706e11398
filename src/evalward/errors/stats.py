"""Counts of failures for GetErrorStats (seed 004): opt-in, and bounded by the registry."""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from typing import TYPE_CHECKING

from evalward.codes import Code
from evalward.errors.registry import row_of

if TYPE_CHECKING:
    from pathlib import Path


class ErrorStats:
    """Counts every ``every``-th failure by code; the other counts follow from the registry. Safe between threads.

    With a ``file`` the counts of earlier runs are loaded, and ``save`` stores them.
    """

    def __init__(self, *, every: int = 1, file: Path | None = None) -> None:
        """Raise ValueError for a file with other contents, OSError for one that cannot be read."""
        self._every = every
        self._file = file
        self._seen = 0
        self._lock = threading.Lock()
        self._counts: Counter[Code] = Counter()
        if file is not None and file.exists():
            self._counts.update(_read(file))

    @property
    def sampling(self) -> float:
        """The part of failures that is counted, above 0 and at most 1."""
        return 1 / self._every

    def count(self, code: Code, times: int = 1) -> None:
        """Count one failure, or ``times`` failures."""
        with self._lock:
            before, self._seen = self._seen, self._seen + times
            if sampled := self._seen // self._every - before // self._every:
                self._counts[code] += sampled

    def by_code(self) -> dict[Code, int]:
        """Return the counts so far."""
        with self._lock:
            return dict(self._counts)

    def save(self) -> None:
        """Write the counts to the file atomically; raise OSError."""
        if self._file is None:
            return
        fresh = self._file.with_name(f"{self._file.name}.new")
        counts = {code.value: number for code, number in sorted(self.by_code().items())}
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            json.dump({"errorStats": 1, "counts": counts}, stream)
        fresh.replace(self._file)


def by_domain(counts: dict[Code, int]) -> dict[str, int]:
    """Return ``counts`` summed up by domain."""
    domains: Counter[str] = Counter()
    for code, number in counts.items():
        domains[row_of(code).domain] += number
    return dict(domains)


def _read(file: Path) -> dict[Code, int]:
    document = json.loads(file.read_text("utf-8"))
    counts = document.get("counts") if isinstance(document, dict) else None
    if not isinstance(counts, dict) or not all(type(each) is int and each >= 0 for each in counts.values()):
        raise ValueError(f"{file} holds no error counts")
    return {Code(name): number for name, number in counts.items()}
