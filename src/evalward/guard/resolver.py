"""Value resolution: which capabilities the surveyed programs reach (guard.md §2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalward.guard.program import ParsedProgram, Survey
    from evalward.guard.rules import Rules
    from evalward.guard.verdict import Finding


def resolve(
    programs: Sequence[ParsedProgram],  # noqa: ARG001  the lead replaces this module with the interpreter
    survey: Survey,  # noqa: ARG001  the same
    rules: Rules,  # noqa: ARG001  the same
) -> list[Finding]:
    """Return what is found in ``programs``; nothing until the interpreter lands."""
    return []
