"""Disable core files for every process that holds payloads: a core file would contain them."""

from __future__ import annotations


def disable_core_dumps() -> None:
    """Set RLIMIT_CORE (setrlimit(2)) to 0 for this process and all its children.

    If the core pattern pipes into a program (core(5)), that program has to honour the limit; systemd-coredump does.
    """
    try:
        import resource  # noqa: PLC0415 - not on Windows, which writes no core files
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
