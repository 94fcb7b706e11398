"""Files that a driver takes from its own machine and hands to a page (Playwright, Puppeteer)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from evalward.guard.builtins.driver_options import option
from evalward.guard.constructs import nested_evaluation
from evalward.guard.constructs.rank import Rank
from evalward.guard.domain.atoms import SPELLS_ANY_NAME, UNDEFINED, V_UNDEFINED, Value, of
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject

if TYPE_CHECKING:
    from evalward.guard.domain.call import Call
    from evalward.guard.domain.span import Span
    from evalward.guard.interpret.machine import Machine, Transfer

_SECRETS: Final = "process.env"
# The kernel's files: `/proc/self/environ` is `process.env`, `/dev/fd` a way there, and so is a relative path.
_SYSTEM_FILE: Final = re.compile(r"(?:^|[\\/])(?:proc|dev|sys)(?:[\\/]|$)", re.IGNORECASE)
_ABSOLUTE: Final = re.compile(r"\s*(?:file:|[\\/]|(?:[^\\/]*[\\/])*\.\.[\\/])", re.IGNORECASE)
# Files that a browser shows as documents, which may hold scripts.
_DOCUMENT: Final = re.compile(r"\.(?:[xs]?html?|xht|svgz?|xml|xslt?|mht(?:ml)?|pdf)\W*$", re.IGNORECASE)
_FILE_URL: Final = re.compile(r"[\s\0-\x1f]*(?:view-source:)?f\s*i\s*l\s*e\s*:", re.IGNORECASE)


def is_system_file(path: str) -> bool:
    """Whether a path or a `file:` URL may lead below `/proc`, `/dev` or `/sys`."""
    plain = unquote(path)
    return _ABSOLUTE.match(plain) is not None and _SYSTEM_FILE.search(plain) is not None


def judge_file(machine: Machine, path: Value, span: Span, *, shown: bool = False) -> None:
    """Report a file that holds what `process` denies: by its path, or because the payload decodes the path itself.

    In profile strict the path of a file that a page is shown is resolved, or denied.
    """
    if shown and any(isinstance(atom, HeapObject) for atom in path):
        machine.report(_SECRETS, Rank.USED, span, None, "a file is named by an object")
    for text in machine.to_string(path, span) if path else path:
        unresolved = shown and machine.strict and type(text) is not str
        if text in SPELLS_ANY_NAME or unresolved or (type(text) is str and is_system_file(text)):
            machine.report(_SECRETS, Rank.USED, span, None, "a file that may hold the environment is read")


def judge_address(machine: Machine, url: Value, span: Span) -> None:
    """Report a `file:` URL of such a file, which a page shows."""
    for text in url:
        if type(text) is str and _FILE_URL.match(text) and is_system_file(text):
            machine.report(_SECRETS, Rank.USED, span, None, "a file that may hold the environment is shown")


def _judge_list(machine: Machine, paths: HeapObject, span: Span) -> None:
    machine.observe(paths)
    judge_file(machine, paths.everything() - {UNDEFINED}, span)


def _take(machine: Machine, call: Call) -> Value:
    """Choose files for an input: their names, a list of them, or content."""
    for value in (*call.args, call.rest):
        for atom in value:
            if isinstance(atom, HeapObject) and atom.kind == "array":
                _judge_list(machine, atom, call.span)
            elif isinstance(atom, HeapObject) and not atom.callable:
                # Playwright's client sends this option in place of the files.
                for each in option(machine, atom, "localPaths", call.span):
                    if isinstance(each, HeapObject):
                        _judge_list(machine, each, call.span)
            elif not isinstance(atom, HeapObject):
                judge_file(machine, of(atom) - {UNDEFINED}, call.span)
    machine.leak(call.all(), Flow.ARGUMENT, call.span)
    return machine.materialize("promise:undefined", call.span.start) or V_UNDEFINED


def _add_style(machine: Machine, call: Call) -> Value:
    """``page.addStyleTag``: the style sheet of a file becomes text of the page."""
    for atom in call.arg(0):
        if isinstance(atom, HeapObject):
            judge_file(machine, option(machine, atom, "path", call.span), call.span, shown=True)
    machine.leak(call.all(), Flow.ARGUMENT, call.span)
    return machine.materialize("promise:@playwright.locator", call.span.start)


def _open(machine: Machine, call: Call) -> Value:
    """Open a page or context: its stored state may be a file, whose parser tells its beginning."""
    for atom in call.arg(0):
        if isinstance(atom, HeapObject):
            judge_file(machine, option(machine, atom, "storageState", call.span), call.span)
    machine.leak(call.all(), Flow.ARGUMENT, call.span)
    return machine.materialize(machine.catalogue.get(call.path).result, call.span.start)


def _save_state(machine: Machine, call: Call) -> Value:
    """``context.storageState({ path })``: what the page stored becomes a file, which must not be a document."""
    for atom in call.arg(0):
        if isinstance(atom, HeapObject):
            for path in machine.to_string(option(machine, atom, "path", call.span), call.span):
                if type(path) is str and _DOCUMENT.search(path):
                    note = "what a page stored is saved as a document"
                    machine.report(nested_evaluation.LABEL, Rank.USED, call.span, None, note)
    machine.leak(call.all(), Flow.ARGUMENT, call.span)
    return machine.materialize("promise:data", call.span.start)


_CHOOSING: Final = (
    "page.setInputFiles",
    "page.routeFromHAR",
    "context.routeFromHAR",
    "locator.setInputFiles",
    "locator.uploadFile",
)

TRANSFER: dict[str, Transfer] = {
    **{f"playwright.{name}": _take for name in _CHOOSING},
    "playwright.page.addStyleTag": _add_style,
    "playwright.context.storageState": _save_state,
    **{f"playwright.browser.{name}": _open for name in ("newPage", "newContext")},
}
