"""What a driver's page loads: URLs, markup, answers to requests (Playwright, Puppeteer, Electron)."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from evalward.guard.builtins.blobs import own_bytes
from evalward.guard.builtins.codecs import as_texts
from evalward.guard.builtins.driver_files import judge_address, judge_file
from evalward.guard.builtins.driver_options import has_option, overriding
from evalward.guard.catalogue.any_receiver import PARAMETERS_OF_COMMANDS
from evalward.guard.constructs import nested_evaluation
from evalward.guard.constructs.rank import Rank
from evalward.guard.domain.atoms import (
    ACTIVE_MARKUP,
    BOTTOM,
    SPELLS_ANY_NAME,
    TAINTED_STRING,
    UNDEFINED,
    V_TAINTED_DATA,
    V_UNDEFINED,
    V_UNKNOWN,
    Atom,
    Value,
    known,
    of,
)
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.script_urls import may_be_script_url
from evalward.guard.interpret.script_texts import names_script_file
from evalward.guard.interpret.unresolved_sinks import ADDRESS, ANSWER, CONTENT
from evalward.guard.markup import holds_active_document, is_active, is_script_url, names_script

if TYPE_CHECKING:
    from evalward.guard.domain.call import Call
    from evalward.guard.interpret.machine import Machine, Transfer

_ACTIVE: Final = SPELLS_ANY_NAME | {ACTIVE_MARKUP}
_ACTIVE_CONTENT: Final = "the page's content holds script"
# What a script can do nothing without: a call, a template, an assignment, `import`, `new`.
_CODE: Final = re.compile(r"[(`=]|\bimport\b|\bnew\b")
# A style sheet has calls, too, of these functions.
_STYLE_CALL: Final = re.compile(r"(?<![\w$.])(?:url|rgba?|hsla?|var|calc|translate|scale|rotate)\([^()`=]*\)")
# No answer of these types is run as a script (Fetch Standard, "should response be blocked due to its MIME type").
_NEVER_RUNS: Final = re.compile(r"\s*(?:(?:image|audio|video)/(?!svg)|text/csv\b)", re.IGNORECASE)
_JSON: Final = re.compile(r"\s*[\w-]+/(?:[\w.-]+\+)?json\b", re.IGNORECASE)


def _report(machine: Machine, call: Call, note: str, rank: Rank = Rank.USED) -> None:
    machine.report(nested_evaluation.LABEL, rank, call.span, None, note)


def _constants(value: Value) -> list[str]:
    return [atom for atom in value if type(atom) is str]


def is_resolved(value: Value) -> bool:
    """Whether every atom of a text is a constant."""
    return all(type(atom) is str for atom in value)


def _go(machine: Machine, call: Call) -> Value:
    """Navigate: a ``javascript:`` URL runs in the page that is left, a ``data:`` URL may be a page with script.

    A text that the payload does not write itself may be one that it gave to the page or the driver before.
    """
    url = machine.to_string(call.arg(0) | overriding(machine, call, "url"), call.span)
    if ACTIVE_MARKUP in url or any(
        is_script_url(text) or holds_active_document(text) for text in _constants(url)
    ):
        _report(machine, call, "the URL is a script")
    elif url & SPELLS_ANY_NAME or may_be_script_url(url):
        _report(machine, call, "the payload decodes the URL itself", Rank.BY_KEY)
    elif not is_resolved(url) and any(
        names_script(text) or holds_active_document(text)
        for text in _constants(machine.held() | machine.told())
    ):
        _report(machine, call, "the URL may be a script that the payload gave to the page")
    elif not is_resolved(url):
        machine.miss(ADDRESS, call.span)
    judge_address(machine, url, call.span)
    return machine.materialize("promise:unknown", call.span.start)


def _set_content(machine: Machine, call: Call) -> Value:
    """``page.setContent``: markup with script in it is a script that the page runs."""
    text = _perhaps_given_back(
        machine, machine.to_string(call.arg(0) | overriding(machine, call, "html"), call.span)
    )
    if _is_active(text) or (machine.strict and not is_resolved(text)):
        _report(machine, call, _ACTIVE_CONTENT)
    elif not is_resolved(text):
        machine.miss(CONTENT, call.span)
    return machine.materialize("promise:undefined", call.span.start)


def _perhaps_given_back(machine: Machine, text: Value) -> Value:
    """Return a text joined with those that the payload gave to the page or the driver, unless it is a constant."""
    if is_resolved(text):
        return text
    given = machine.held() | machine.told()
    return text | frozenset(atom for atom in given if type(atom) is str or atom is ACTIVE_MARKUP)


def _is_active(text: Value) -> bool:
    return bool(text & _ACTIVE) or any(is_active(atom) for atom in _constants(text))


def _route(machine: Machine, call: Call) -> Value:
    """``page.route``: the handler is given the request, and may answer it."""
    machine.use(call.arg(1), Flow.CALLBACK, call.span)
    given = (of(known("playwright.route")), V_TAINTED_DATA)
    machine.call(call.arg(1), V_UNDEFINED, given, call.span)
    machine.leak(call.arg(2), Flow.ARGUMENT, call.span)
    return machine.materialize("promise:undefined", call.span.start)


def _fulfill(machine: Machine, call: Call) -> Value:
    """``route.fulfill``, ``request.respond``: the page runs what script the answer holds, or is.

    A page runs an answer as a script whatever its type, but for pictures and the like: the request decides.
    """
    for atom in call.arg(0):
        if isinstance(atom, HeapObject):
            _judge_answer(machine, call, atom)
    machine.leak(_handed_over(machine, call.arg(0)) | call.all(1), Flow.ARGUMENT, call.span)
    return machine.materialize("promise:undefined", call.span.start)


def _continue(machine: Machine, call: Call) -> Value:
    """``route.continue``, ``request.continue``: with a ``url`` the page gets what that serves in place of its own."""
    for atom in call.arg(0):
        if isinstance(atom, HeapObject) and not machine.in_page:
            url = machine.to_string(_field(machine, atom, "url", call), call.span)
            if any(names_script_file(text) or holds_active_document(text) for text in _constants(url)):
                _report(machine, call, "a script is loaded in place of what the page asks for")
    machine.leak(call.all(), Flow.ARGUMENT, call.span)
    return machine.materialize("promise:undefined", call.span.start)


def _handed_over(machine: Machine, answers: Value) -> Value:
    """Return what a driver gets that it may change: not the bytes of a body, which it only reads."""
    result: Value = BOTTOM
    for atom in answers:
        if (
            isinstance(atom, HeapObject)
            and atom.kind == "object"
            and not (atom.prototype or atom.extensible or atom.getters or atom.escaped)
        ):
            for name, value in atom.properties.items():
                result |= as_texts(machine, value) if name == "body" else value
        else:
            result |= of(atom)
    return result


def _field(machine: Machine, options: HeapObject, name: str, call: Call) -> Value:
    """Return a field of options, BOTTOM if it is absent; a driver that holds them does not change them."""
    machine.observe(options)
    if options.kind != "object" or options.prototype or options.extensible or name in options.getters:
        return machine.get(of(options), name, call.span) - {UNDEFINED}
    return options.properties.get(name, BOTTOM) - {UNDEFINED}


def _judge_answer(machine: Machine, call: Call, answer: HeapObject) -> None:
    judge_file(machine, _field(machine, answer, "path", call), call.span, shown=True)
    types = _types(machine, call, answer)
    if types and all(_NEVER_RUNS.match(each) for each in types):
        return
    _judge_json(machine, call, answer, types)
    body = as_texts(machine, _field(machine, answer, "body", call))
    if not body:
        return
    if own_bytes(machine, body):
        _report(machine, call, "the page's content is made of bytes")
    text = machine.to_string(body, call.span)
    if TAINTED_STRING in text or not types or not all(_JSON.match(each) for each in types):
        text = _perhaps_given_back(machine, text)
    if _is_active(text) or any(_may_run(atom) for atom in _constants(text)):
        _report(machine, call, _ACTIVE_CONTENT)
    elif not is_resolved(text) and (TAINTED_STRING in text or not all(map(_JSON.match, types or [""]))):
        machine.miss(ANSWER, call.span)


def _judge_json(machine: Machine, call: Call, answer: HeapObject, types: list[str]) -> None:
    """``fulfill({ json })``: the answer is JSON, unless it says another type; markup in its texts is markup then."""
    value = _field(machine, answer, "json", call)
    named = any(_field(machine, answer, name, call) for name in ("contentType", "headers"))
    if not value or not named or (types and all(_JSON.match(each) for each in types)):
        return
    pending, seen = list(value), set[Atom]()
    while pending:
        atom = pending.pop()
        if atom in seen:
            continue
        seen.add(atom)
        if isinstance(atom, HeapObject):
            machine.observe(atom)
            pending.extend(atom.everything())
        elif (atom in _ACTIVE) or (type(atom) is str and is_active(atom)):
            _report(machine, call, _ACTIVE_CONTENT)


def _types(machine: Machine, call: Call, answer: HeapObject) -> list[str]:
    """Return the media types that an answer says, none if one of them is not known."""
    said = _field(machine, answer, "contentType", call)
    for headers in _field(machine, answer, "headers", call):
        if isinstance(headers, HeapObject):
            for name in ("content-type", "Content-Type"):
                said |= _field(machine, headers, name, call)
    return _constants(said) if is_resolved(said) else []


def _may_run(body: str) -> bool:
    """Whether a text does something where it runs as a script: neither JSON nor markup, nor plain words."""
    if body.lstrip().startswith("<") or not _CODE.search(_STYLE_CALL.sub("", body)):
        return False
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return True
    return False


# A command of the Chrome DevTools Protocol: the domain, then what it does.
_COMMAND: Final = re.compile(r"[A-Z][A-Za-z]+\.[a-z]\w*")


def _send(machine: Machine, call: Call) -> Value:
    """``x.send(command, parameters)``, where x may be a session of the Chrome DevTools Protocol."""
    command = call.arg(0)
    if not machine.in_page and any(_COMMAND.fullmatch(text) for text in _constants(command)):
        _report(machine, call, "a command is sent to the browser")
    elif not machine.in_page and not is_resolved(command) and _may_hold_code(machine, call):
        _report(
            machine, call, "a command that cannot be resolved is sent, perhaps to the browser", Rank.BY_KEY
        )
    machine.leak(call.all(), Flow.ARGUMENT, call.span)
    return V_UNKNOWN


def _may_hold_code(machine: Machine, call: Call) -> bool:
    """Whether the second argument may be the parameters of a command that runs something."""
    return any(has_option(machine, call.arg(1), name, call.span) for name in PARAMETERS_OF_COMMANDS)


TRANSFER: dict[str, Transfer] = {
    "playwright.page.setContent": _set_content,
    "playwright.page.setFrameContent": _set_content,
    "playwright.page.screencast.showOverlay": _set_content,
    "playwright.page.goto": _go,
    "selenium.driver.get": _go,
    "selenium.navigation.to": _go,
    "playwright.page.route": _route,
    "playwright.context.route": _route,
    "playwright.route.fulfill": _fulfill,
    "playwright.route.continue": _continue,
    "playwright.route.fallback": _continue,
    "unknown.send": _send,
    "electron.BrowserWindow.prototype.loadURL": _go,
    "electron.webContents.prototype.loadURL": _go,
}
