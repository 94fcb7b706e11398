"""Bound glibc's malloc arenas: it makes up to eight a core for threads, and what each keeps counts as resident."""

from __future__ import annotations

import ctypes
from contextlib import suppress
from typing import Final

ARENAS: Final = 2
_M_ARENA_MAX: Final = -8  # malloc.h of glibc


def bound_malloc_arenas() -> None:
    """Let threads share ``ARENAS`` arenas; call it before threads start. Nothing on a C library without ``mallopt``."""
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, ARENAS)
