"""A denial while a hardened program runs: found in the text of an error, and told as an envelope (harden.md §4)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from evalward.codes import Code
from evalward.errors.causes import of_construct
from evalward.errors.envelope import error_envelope

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evalward.errors.canonical import JsonValue
from evalward.errors.envelope import Meta

ERROR_NAME: Final = "EvalwardDenied"
_MESSAGE: Final = re.compile(r"evalward denied ([!-~]{1,128}(?: [!-~]{1,128}){0,3})")

_BEHIND: Final = ":;,.\"'`\\"
"""What follows the label in the text of an error, or in a server's JSON of it."""


def denied_construct(text: str, *, name: str | None = None) -> str | None:
    """Return the construct that the denial in ``text`` names, a label of the catalogue; None for any other text.

    ``text`` is an error's text as a driver gives it, with other words before and behind it. With the error's
    ``name``, it is the message of that error alone.
    """
    if name is not None and name != ERROR_NAME:
        return None
    found = _MESSAGE.search(text) if name is None else _MESSAGE.match(text)
    return None if found is None else _label(found[1])


def run_time_denial(construct: str, *, meta: Meta, details: Mapping[str, object]) -> dict[str, JsonValue]:
    """Return the envelope of a run that ended with a denial of ``construct``; its next actions are the construct's."""
    advice = of_construct(construct)
    return error_envelope(
        Code.EVAL_DENIED_AT_RUN_TIME,
        f"The program reached {construct} while it ran, which the policy denies; it was stopped there.",
        meta=meta,
        next_actions=advice.next_actions,
        details={**details, "construct": construct, "repairable": advice.repairable},
    )


def _label(text: str) -> str | None:
    """Return the label at the start of ``text``, without what follows it."""
    from evalward.guard.constructs.labels import is_known_label  # noqa: PLC0415 - clients do without the guard

    words = text.split(" ")
    for count in range(len(words), 0, -1):
        words = words[:count]
        label = " ".join(words)
        for candidate in (label, label.rstrip(_BEHIND)):
            if is_known_label(candidate):
                return candidate
    return None
