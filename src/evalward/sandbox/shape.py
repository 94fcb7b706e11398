"""The wrapper that each shape puts around a payload, and the shape of a payload that declares none.

Spec: guard.md §1 (Shape), sandbox.md "The call". The guard must judge the same choice that runs, so both use
:func:`choose_shape`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evalward.guard.target import Shape

if TYPE_CHECKING:
    from collections.abc import Mapping

# The text before and after the payload. The newlines keep a comment at either end from swallowing the wrapper.
_WRAPPERS: Final[Mapping[Shape, tuple[str, str]]] = {
    Shape.SCRIPT: ("", ""),
    Shape.EXPRESSION: ("(\n", "\n)"),
    Shape.FUNCTION: ("(\n", "\n)"),
    Shape.ASYNC_BODY: ("(async function (arg) {\n", "\n})"),
    Shape.MODULE: ("", ""),
}

CALLED_SHAPES: Final = frozenset({Shape.FUNCTION, Shape.ASYNC_BODY})
"""The shapes whose wrapped text evaluates to a function that is then called with the argument."""


def wrap(code: str, shape: Shape) -> str:
    """Return the program that is evaluated for ``code`` in ``shape``."""
    before, after = _WRAPPERS[shape]
    return before + code + after
