"""Whether a verdict keeps its hardened program, and what a missing one means (docs/design/contract.md §3)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from evalward.errors import Code
from evalward.guard.rules import Hardening
from evalward.guard.verdict import Unhardened

if TYPE_CHECKING:
    from evalward.guard.verdict import Location, Verdict

_PERMITTED: Final = Unhardened("the policy permits a construct that the program would deny")
_WITHHELD: Final = Unhardened("the payload is allowed in audit mode only")
_UNASKED: Final = Unhardened("no program was made")


def hardened_under(mode: Hardening, verdict: Verdict) -> Verdict:
    """Return the settled ``verdict`` under ``mode``.

    ``offered``: a payload that the policy permits although the guard found something keeps running as it is.
    ``required``: an allow without a program is the denial EVAL_NOT_HARDENABLE.
    """
    if not verdict.allowed:
        return verdict
    if mode is Hardening.OFF:
        return replace(verdict, hardened=None, unhardened=None) if _is_marked(verdict) else verdict
    if mode is Hardening.OFFERED:
        if verdict.shadow or verdict.permits or verdict.exception_id is not None or verdict.withheld:
            return replace(verdict, hardened=None, unhardened=_PERMITTED)
        return verdict
    if verdict.hardened is not None:
        return verdict
    why = verdict.unhardened or (_WITHHELD if verdict.withheld else _UNASKED)
    return without_program(verdict, why.reason, why.location)


def without_program(verdict: Verdict, reason: str, location: Location | None = None) -> Verdict:
    """Return the denial of an allow whose program is required and not available."""
    return replace(
        verdict,
        code=Code.EVAL_NOT_HARDENABLE,
        message=f"The payload may run only as a hardened program, and none can be made of it: {reason}",
        location=location,
        details=(*verdict.details, ("reason", reason)),
        hardened=None,
        unhardened=None,
    )


def _is_marked(verdict: Verdict) -> bool:
    return verdict.hardened is not None or verdict.unhardened is not None
