"""Parse the values of filter options: an impossible value is a usage error, not an empty result."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import typer

from evalward.audit.record_values import Kind, Outcome
from evalward.cli.serverless import target_option
from evalward.errors import Code
from evalward.guard.constructs.labels import CONSTRUCT_LABELS, is_known_label
from evalward.similar import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_HEX: Final = re.compile(r"[0-9a-f]+")
_WITHOUT_LABEL: Final = ("keyword:", "limit:")


def kind(text: str) -> str:
    """Return a kind of record."""
    return _one_of(text, [*Kind], "kind of record")


def outcome(text: str) -> str:
    """Return an outcome."""
    return _one_of(text, [*Outcome], "outcome")


def code(text: str) -> str:
    """Return a code of the registry, or ``namespace.CODE`` of a plugin."""
    if "." in text:
        return text
    return _one_of(text.upper(), [*Code], "code", listing="evalward codes lists them")


def construct(text: str) -> str:
    """Return a label of the catalogue."""
    if is_known_label(text):
        return text
    return _one_of(text, CONSTRUCT_LABELS, "construct", listing="evalward explain --list shows them")


def shadow(text: str) -> str:
    """Return the name of a finding that was only audited: a label, ``keyword:ID`` or ``limit:NAME``."""
    return text if text.startswith(_WITHOUT_LABEL) else construct(text)


def target(text: str) -> str:
    """Return a target, ``renderer`` for its alias ``page``."""
    return target_option(text).value


def hex_digits(length: int) -> Callable[[str], str]:
    """Return a parser of texts of ``length`` hex digits."""

    def taken(text: str) -> str:
        if len(text) != length or _HEX.fullmatch(text.lower()) is None:
            raise typer.BadParameter(f"{text[:80]!a} does not have {length} hex digits")
        return text.lower()

    return taken


def _one_of(text: str, known: Iterable[str], what: str, *, listing: str | None = None) -> str:
    names = sorted(map(str, known))
    if text in names:
        return text
    shown = listing or f"there are {', '.join(names)}"
    raise typer.BadParameter(f"there is no {what} {text[:80]!a}{did_you_mean(text, names)}; {shown}")
