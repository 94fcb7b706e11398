"""The names that a sink binds, and the closed set of kinds of what they hold (guard.md §2, Host bindings).

Every reader of a kind rejects a text that is no kind. Read as plain data, a mistyped ``electron`` would let the host's
objects pass.
"""

from __future__ import annotations

from difflib import get_close_matches
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from evalward.guard.target import Target

if TYPE_CHECKING:
    from collections.abc import Mapping

_SIMILAR: Final = 3


class BindingKind(StrEnum):
    """What a bound name holds: plain data, or a host object whose members the catalogue lists."""

    JSON = "json"
    ELECTRON = "electron"
    ELECTRON_APP_MODULE = "electron.app"
    ELECTRON_APP = "electronApp"  # Electron's module, or Playwright's ElectronApplication
    PLAYWRIGHT_PAGE = "playwright.page"
    PLAYWRIGHT_CONTEXT = "playwright.context"
    PLAYWRIGHT_BROWSER = "playwright.browser"
    PLAYWRIGHT_ELECTRON_APP = "playwright.electronApp"
    ELEMENT = "element"


BINDING_KINDS: Final = frozenset(kind.value for kind in BindingKind)
"""Every kind as text."""
_BY_FOLD: Final = {kind.casefold(): kind for kind in BindingKind}
_ARGUMENT: Final = {"arg": BindingKind.JSON}

USUAL_BINDINGS: Final[Mapping[Target, Mapping[str, BindingKind]]] = MappingProxyType(
    {
        Target.MAIN: {
            "electron": BindingKind.ELECTRON,
            "app": BindingKind.ELECTRON_APP_MODULE,
            "electronApp": BindingKind.ELECTRON_APP,
            **_ARGUMENT,
        },
        Target.RENDERER: _ARGUMENT,
        Target.NODE: {
            "page": BindingKind.PLAYWRIGHT_PAGE,
            "context": BindingKind.PLAYWRIGHT_CONTEXT,
            "browser": BindingKind.PLAYWRIGHT_BROWSER,
            "electronApp": BindingKind.PLAYWRIGHT_ELECTRON_APP,
            **_ARGUMENT,
        },
        Target.SANDBOX: _ARGUMENT,
    }
)
"""What a sink of each target usually binds, where neither policy nor request declares anything else."""

ELECTRON_GLOBALS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "shell": "electron.shell",
        "BrowserWindow": "electron.BrowserWindow",
        "webContents": "electron.webContents",
    }
)
"""Members of Electron's module that a sink in the main process may bind, with their catalogue paths."""

DRIVER_GLOBALS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "chromium": "playwright.browserType",
        "firefox": "playwright.browserType",
        "webkit": "playwright.browserType",
        "playwright": "playwright",
        "_electron": "playwright.browserType",
        "puppeteer": "puppeteer",
        "driver": "selenium.driver",
        "By": "selenium.by",
    }
)
"""The usual names of browser drivers (Playwright, Puppeteer, Selenium) in Node, with their catalogue paths."""


def similar_kinds(text: str) -> list[str]:
    """Return the kinds that ``text`` may be a misspelling of, the most similar first."""
    return [_BY_FOLD[fold].value for fold in get_close_matches(text[:64].casefold(), _BY_FOLD, n=_SIMILAR)]
