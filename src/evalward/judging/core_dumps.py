"""No process that holds payloads leaves a core file: it would hold them, too."""

from __future__ import annotations

import resource


def disable_core_dumps() -> None:
    """Have the kernel write no core file of this process, and of none that it starts, whatever ends it.

    RLIMIT_CORE of setrlimit(2). Where the core pattern pipes into a program (core(5)), that one has to honour the
    limit; systemd-coredump does.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
