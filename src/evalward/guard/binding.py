"""What a name that the sink binds can hold (guard.md §2, Host bindings): a closed set.

A kind that is not one of these would have to be read as something, and the harmless reading lets a mistyped
``electron`` pass as plain data. So there is no such reading: whoever takes a kind refuses every other text.
"""

from __future__ import annotations

from difflib import get_close_matches
from enum import StrEnum

_SIMILAR = 3


class BindingKind(StrEnum):
    """What a bound name holds: plain data, or a host object whose members the catalogue lists."""

    JSON = "json"
    ELECTRON = "electron"
    ELECTRON_APP_MODULE = "electron.app"
    ELECTRON_APP = (
        "electronApp"  # what a driver of Electron binds: the module, or Playwright's ElectronApplication
    )
    PLAYWRIGHT_PAGE = "playwright.page"
    PLAYWRIGHT_CONTEXT = "playwright.context"
    PLAYWRIGHT_BROWSER = "playwright.browser"
    PLAYWRIGHT_ELECTRON_APP = "playwright.electronApp"
    ELEMENT = "element"


BINDING_KINDS = frozenset(kind.value for kind in BindingKind)
"""The texts that are a kind, for those that only ask whether one is."""
_BY_FOLD = {kind.casefold(): kind for kind in BindingKind}


def similar_kinds(text: str) -> list[str]:
    """Return the kinds that ``text`` may have meant, the closest first; none for a text unlike all of them."""
    return [_BY_FOLD[fold].value for fold in get_close_matches(text[:64].casefold(), _BY_FOLD, n=_SIMILAR)]
