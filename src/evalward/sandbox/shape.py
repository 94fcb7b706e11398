"""The program that the sandbox evaluates for a payload's shape (sandbox.md, The call).

The text around a payload is the guard's own (``evalward.guard.syntax.wrap``), without the call at its end, so that
the judged program is the one that runs.
"""

from __future__ import annotations

from typing import Final

from evalward.guard.syntax.wrap import WRAPPERS
from evalward.guard.target import Shape

CALLED_SHAPES: Final = frozenset({Shape.FUNCTION, Shape.ASYNC_BODY})
"""The shapes whose program evaluates to a function that is then called."""

_CALL: Final = "()"


def program(code: str, shape: Shape) -> str:
    """Return the text to evaluate for ``code``; in CALLED_SHAPES its value is then called."""
    wrapper = WRAPPERS[shape]
    return wrapper.prefix.decode() + code + wrapper.suffix.decode().removesuffix(_CALL)
