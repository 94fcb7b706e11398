"""The number of cores available to this process: affinity mask and control-group quota."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_ROOT: Final = Path("/")
_NO_QUOTA: Final = "max"


def available_cores(root: Path = _ROOT) -> int:
    """Return at least 1; ``root`` contains ``/proc`` and ``/sys``.

    A quota of 1.5 cores counts as 2: the second worker gets half a core. Reads control groups of both versions, and all
    ancestors of this process's group, since the strictest quota applies (cgroups(7), sched_setaffinity(2)).
    """
    return max(1, min([_affinity(), *(math.ceil(quota) for quota in _quotas(root))]))


def _affinity() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _quotas(root: Path) -> Iterator[float]:
    """Yield the quotas that apply to this process, in cores."""
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers:
            for group in _upwards(root / "sys/fs/cgroup", path):
                yield from _ratio(*_text(group / "cpu.max").split())
        elif "cpu" in controllers.split(","):
            for group in _upwards(root / "sys/fs/cgroup" / controllers, path):
                quota = _text(group / "cpu.cfs_quota_us").strip()
                yield from _ratio(quota, _text(group / "cpu.cfs_period_us").strip())


def _upwards(mount: Path, path: str) -> Iterator[Path]:
    """Yield the group at ``path`` and its ancestors. In a container the path can be that of the host's tree."""
    group = Path(path.lstrip("/"))
    yield mount / group
    for above in group.parents:
        yield mount / above


def _ratio(*parts: str) -> Iterator[float]:
    # v1 says -1 where v2 says max.
    if len(parts) == 2 and parts[0] != _NO_QUOTA and all(part.isdigit() for part in parts) and int(parts[1]):  # noqa: PLR2004
        yield int(parts[0]) / int(parts[1])


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii")
    except (OSError, ValueError):
        return ""
