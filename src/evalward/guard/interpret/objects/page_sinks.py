"""Sinks of the page, which turn text into markup, a URL or a handler (guard.md §3)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from evalward.guard.constructs import dom_script_injection, dynamic_key, electron, navigation
from evalward.guard.constructs.rank import Rank
from evalward.guard.domain.atoms import (
    ACTIVE_MARKUP,
    ANY_STRING,
    BOTTOM,
    COMPOSED_CHARACTER,
    COMPOSED_STRING,
    DECODED_STRING,
    SCHEME_LETTERS,
    SPELLS_ANY_NAME,
    STRING_UNKNOWNS,
    TAINTED_DATA,
    TAINTED_STRING,
    TRUE,
    V_ANY_NUMBER,
    V_TAINTED_DATA,
    Primitive,
    Value,
    known,
    of,
)
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.script_urls import may_be_script_url
from evalward.guard.domain.span import Span
from evalward.guard.interpret.script_texts import any_script, names_script_file
from evalward.guard.interpret.unresolved_sinks import CODE, LINK, MARKUP, URL
from evalward.guard.markup import holds_active_document, is_active, is_script_scheme, is_script_url

if TYPE_CHECKING:
    from evalward.guard.interpret.conversion.coercion import Coercion
    from evalward.guard.interpret.held_texts import HeldTexts
    from evalward.guard.interpret.judgement import Judgement
    from evalward.guard.interpret.objects.host_objects import HostObjects
    from evalward.guard.interpret.recursion import Recursion
    from evalward.guard.interpret.run_state import RunState

_URL_ATTRIBUTES = frozenset(
    {"href", "src", "action", "formaction", "xlink:href", "data", "srcdoc", "values", "to", "from", "ping"}
)
ATTRIBUTE_VALUES = frozenset(
    {"value", "nodeValue", "textContent", "baseVal"}
)  # of an attribute node, if it is one
_INERT_PRELOADS = frozenset({"", "none", "metadata", "auto"})  # of audio and video (HTML §4.8.11.5)
# What no script is loaded from: a document, a picture, an empty page.
_INERT_SOURCE = re.compile(
    r"\s*(?:about:blank\b|data:(?:image|audio|video)/|[^?#]*\.(?:html?|png|jpe?g|gif|webp|svg|mp[34]|webm|wav|ogg|pdf)(?:[?#]|\s*\Z))",
    re.IGNORECASE,
)
_TIMERS = frozenset({known("setTimeout"), known("setInterval")})
# Text in the form of a call, except for the functions of CSS and SVG.
_CODE = re.compile(
    r"(?<![\w$-])(?!(?:rgba?|hsla?|hwb|lab|lch|oklab|oklch|color|url|var|calc|min|max|clamp|translate|scale|rotate|skew|"
    r"matrix|perspective|cubic-bezier|steps|repeat|attr|counter|[a-z]+-gradient|blur|not|is|where|nth-child)"
    r"(?:X|Y|Z|3d)?\()[A-Za-z_$][\w$.]*(?:\(|`)",
)
_SPELLS_SCHEME = SPELLS_ANY_NAME | {SCHEME_LETTERS}
# What the payload may have put together itself.
_OF_PAYLOAD = frozenset({COMPOSED_STRING, COMPOSED_CHARACTER})
_WORDS = re.compile(r"[\w\s.#%\[\]-]*")
INJECTION = dom_script_injection.LABEL


class PageSinks:
    """Judgement of writes to a sink."""

    def __init__(
        self,
        state: RunState,
        judgement: Judgement,
        held: HeldTexts,
        host_objects: HostObjects,
        coercion: Coercion,
        machine: Recursion,
    ) -> None:
        self._dataflow = state.dataflow
        self._store = state.store
        self._exposure = state.exposure
        self._findings = state.findings
        self._strict = state.surroundings.strict
        self._judgement = judgement
        self._held = held
        self._host_objects = host_objects
        self._coercion = coercion
        self._machine = machine

    def sink(
        self, kind: str, value: Value, span: Span, *, certain: bool = True, this: Value = BOTTOM
    ) -> None:
        """Judge a value that a DOM sink turns into markup, a URL or a document.

        Where the receiver is only perhaps an element, what is certainly script counts, and so does markup that the
        payload decodes from its own text.
        ``this`` is what a handler is set on, BOTTOM for the window.
        """
        if kind not in {"handler", "setting"}:
            value = self._coercion.to_string(value, span)
            if certain:
                value = self._held.perhaps_given_back(value)
        constants = [atom for atom in value if type(atom) is str]
        resolved = len(constants) == len(value)
        match kind:
            case "html" | "script" | "document":
                self._exposure.expect_frames(constants)
                if (
                    any(is_active(text) or (kind == "script" and text) for text in constants)
                    or ACTIVE_MARKUP in value
                ):
                    self._findings.report(INJECTION, Rank.USED, span, None, "the markup holds script")
                elif DECODED_STRING in value or (certain and COMPOSED_STRING in value):
                    self._findings.report(
                        INJECTION, Rank.BY_KEY, span, None, "the payload decodes the markup itself"
                    )
                elif not resolved and certain and (self._strict or kind != "html"):
                    self._findings.report(INJECTION, Rank.BY_KEY, span, None, "the markup cannot be resolved")
                elif not resolved and certain:
                    self._findings.miss(MARKUP, span)
            case "text":
                self._judge_text(value, span, certain=certain)
            case "source":
                self._judge_source(constants, span)
            case "attribute":
                if any(is_active(text) for text in constants):
                    self._findings.report(
                        INJECTION, Rank.USED, span, None, "the attribute holds markup with script"
                    )
            case "attribute-node":
                self.sink("url", value, span, certain=False)
                if any(_CODE.search(text) for text in constants):
                    note = "an attribute that may be a handler is set to code"
                    self._findings.report(INJECTION, Rank.BY_KEY, span, None, note)
            case "setting":
                if TRUE in value:
                    self._findings.report(
                        electron.LABEL,
                        Rank.USED,
                        span,
                        None,
                        "a page is given what only the host may have",
                    )
            case "preload":
                self._judge_preload(constants, span)
            case "scheme":
                self._judge_scheme(value, constants, span, certain=certain)
            case "value":
                self.sink("url", value, span, certain=False)
            case "url" | "navigate":
                if kind == "navigate":
                    self._findings.report(navigation.LABEL, Rank.NAVIGATES, span, None, "the page is left")
                self._judge_url(value, constants, span, certain=certain)
            case "handler":
                if certain and (any(constants) or (value & STRING_UNKNOWNS)):
                    self._findings.report(INJECTION, Rank.USED, span, None, "the event handler is text")
                if certain:
                    self._judgement.use(value, Flow.CALLBACK, span)
                    self._judgement.use(value & _TIMERS, Flow.ARGUMENT, span)  # an error's text comes first
                    self.call_handler(value, span.start, this)

    def _judge_scheme(self, value: Value, constants: list[str], span: Span, *, certain: bool) -> None:
        if any(is_script_scheme(text) for text in constants) or (certain and value & _SPELLS_SCHEME):
            self._findings.report(INJECTION, Rank.USED, span, None, "the URL becomes a script")
        else:
            self._miss(value, span, certain=certain)

    def _miss(self, value: Value, span: Span, *, certain: bool) -> None:
        """Note a URL, or a part of one, that is not known."""
        if ANY_STRING in value or (certain and not value.isdisjoint(_OF_PAYLOAD)):
            self._findings.miss(URL, span)
        elif TAINTED_STRING in value or (certain and TAINTED_DATA in value):
            self._findings.miss(LINK, span)

    def _judge_url(self, value: Value, constants: list[str], span: Span, *, certain: bool) -> None:
        if any(is_script_url(text) for text in constants) or ACTIVE_MARKUP in value:
            self._findings.report(INJECTION, Rank.USED, span, None, "the URL is a script")
        elif any(holds_active_document(text) for text in constants):
            self._findings.report(INJECTION, Rank.USED, span, None, "the URL is a document with script")
        elif certain and value & SPELLS_ANY_NAME:
            self._findings.report(INJECTION, Rank.BY_KEY, span, None, "the payload decodes the URL itself")
        elif certain and may_be_script_url(value):
            note = "the payload writes a part of a script's URL"
            self._findings.report(INJECTION, Rank.BY_KEY, span, None, note)
        else:
            self._miss(value, span, certain=certain)

    def _judge_text(self, value: Value, span: Span, *, certain: bool) -> None:
        """Judge the text of an element that may be a script: found by its id, it may be one that has not run."""
        self._dataflow.spend(1 + sum(len(text) >> 4 for text in value if type(text) is str))
        if any_script(value):
            self._findings.report(INJECTION, Rank.USED, span, None, "what may be a script is given code")
        elif certain and any(type(text) is not str for text in value):
            self._findings.miss(CODE, span)

    def _judge_source(self, urls: list[str], span: Span) -> None:
        """Judge the source of an element that may be a script; that of a document or a picture is none."""
        if any(names_script_file(url) or (self._strict and not _INERT_SOURCE.match(url)) for url in urls):
            self._findings.report(
                INJECTION, Rank.BY_KEY, span, None, "what may be a script is given a source"
            )

    def _judge_preload(self, texts: list[str], span: Span) -> None:
        """Report the script that a guest page (Electron's `<webview>`) is to run before its own."""
        if not all(each in _INERT_PRELOADS for each in texts):
            self._findings.report(electron.LABEL, Rank.USED, span, None, "a guest page is given a script")

    def _may_be_code(self, value: Value, span: Span) -> bool:
        """Whether a value may run as the text of a handler: plain words and the source text of a plain function do not.

        It is asked where an attribute's name is one of several: ``h('ul', {class: 'wide', onClick: () => {}})`` writes
        them all by one call, and no value is written under each name.
        """
        for atom in value:
            if (
                isinstance(atom, HeapObject)
                and atom.kind == "function"
                and atom.properties.keys() <= {"prototype"}
                and not (atom.prototype or atom.extensible)
            ):
                continue
            if any(
                not _WORDS.fullmatch(text)
                if type(text) is str
                else text in STRING_UNKNOWNS or type(text) is not Primitive
                for text in self._coercion.to_string(of(atom), span)
            ):
                return True
        return False

    def call_handler(self, value: Value, start: int, this: Value = BOTTOM) -> None:
        """Call an event handler with an event; ``this`` is what it was set on, BOTTOM for the window."""
        functions = frozenset(atom for atom in value if isinstance(atom, HeapObject) and atom.callable)
        if not functions:
            return
        event = self._host_objects.materialize("new:Event.prototype", start)
        thrown = self.tell_thrown(event)
        # `onerror` of the window gets five arguments: message, source, line, column and what was thrown.
        self._machine.call(
            functions, this, (event, V_TAINTED_DATA, V_ANY_NUMBER, V_ANY_NUMBER, thrown), Span.at(start)
        )

    def tell_thrown(self, event: Value) -> Value:
        """Put what the payload threw on an event, as an event of an error or a rejection carries it."""
        thrown = self._dataflow.read(self._dataflow.thrown)
        if thrown:
            for atom in event:
                if isinstance(atom, HeapObject):
                    self._store.put(atom, "error", thrown)
                    self._store.put(atom, "reason", thrown)
                    promise = self._store.allocate("promise", atom.start, "of an event")
                    self._store.put_element(promise, thrown)
                    self._store.put(atom, "promise", of(promise))
        return thrown | V_TAINTED_DATA

    def set_attribute(self, name: Value, value: Value, span: Span) -> None:
        """Judge ``setAttribute``: event handlers, script URLs, ``srcdoc``, markup that a reader may insert."""
        name = self._coercion.to_string(name, span)
        if any(type(atom) is not str or atom.lower() == "name" for atom in name):
            self._exposure.expect_names(value)
        telling = any(type(atom) is not str or atom.lower() in _URL_ATTRIBUTES for atom in name)
        self.sink("url", value, span, certain=telling)
        self.sink("attribute", value, span)
        scripted = any(type(atom) is str and _CODE.search(atom) for atom in value) or any_script(value)
        for atom in name:
            if type(atom) is str:
                lowered = atom.lower()
                if lowered.startswith("on"):
                    if len(name) > 1 and not self._strict and not self._may_be_code(value, span):
                        continue
                    self._findings.report(
                        INJECTION, Rank.USED, span, None, "an event handler is set from text"
                    )
                elif lowered == "srcdoc":
                    self.sink("document", value, span)
                elif lowered == "preload":
                    self.sink("preload", value, span)
            elif (
                atom is TAINTED_STRING
                or atom is TAINTED_DATA
                or atom in SPELLS_ANY_NAME
                or atom is COMPOSED_CHARACTER
                or (self._strict and atom is ANY_STRING)
            ):
                self._findings.report(
                    dynamic_key.LABEL,
                    Rank.BY_KEY,
                    span,
                    None,
                    "an attribute is set by a name that cannot be resolved",
                )
            elif scripted:
                self._findings.report(
                    INJECTION,
                    Rank.BY_KEY,
                    span,
                    None,
                    "an attribute that may be a handler is set to code",
                )
