"""Printing ``using``: constants, and behind each what the engine disposes of in its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.harden.tree import Name

if TYPE_CHECKING:
    from evalward.guard.harden.print_patterns import Steps
    from evalward.guard.harden.printer import Printer
    from evalward.guard.harden.tree import Expression


def used(printer: Printer, declarators: list[tuple[Expression, Expression | None]], steps: Steps) -> str:
    """Print a declaration, for whose names ``steps`` has a declarator each."""
    pieces: list[str] = []
    for (target, _), step in zip(declarators, steps.out, strict=True):
        pieces += (f"const {step}", resource(printer, target))
    return ";".join(pieces)


def resource(printer: Printer, target: Expression) -> str:
    """Print the resource for the constant ``target``."""
    if type(target) is not Name or target.binding is None:
        raise RuntimeError("using declares a name")
    return f"using {printer.scopes.fresh()}={printer.run('us')}({target.binding.printed})"
