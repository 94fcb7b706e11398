"""Places in the arguments: JSON Pointers (RFC 6901), and patterns of them with ``*`` for any element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evalward.errors import pointer

if TYPE_CHECKING:
    from collections.abc import Iterable

ANY: Final = "*"
"""The step of a pattern that matches every element of an array and every member of an object."""


def steps_of(pointer: str) -> tuple[str, ...]:
    """Return the steps of a pointer that begins with a slash."""
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:])


def pointer_of(steps: Iterable[str | int]) -> str:
    """Return ``steps`` as a JSON Pointer; the whole document is the empty text."""
    return pointer(*steps)


def fits(pattern: tuple[str, ...], steps: tuple[str | int, ...]) -> bool:
    """Return whether ``steps`` is one of the places that ``pattern`` names."""
    return len(pattern) == len(steps) and all(
        want in (ANY, str(step)) for want, step in zip(pattern, steps, strict=True)
    )


def last_step(text: str) -> str:
    """Return the name that a field's path ends in, or that precedes its last ``*``."""
    named = [step for step in steps_of(text) if step != ANY] if text.startswith("/") else [text]
    return named[-1] if named else ""
