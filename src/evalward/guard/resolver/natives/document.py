"""The page's functions that take markup, attribute names or code (HTML Standard; guard.md §3)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from evalward.guard.resolver.heap import HeapObject
from evalward.guard.resolver.judgement import Flow
from evalward.guard.resolver.sinks import INJECTION, SCRIPT_URL, holds_active_document
from evalward.guard.resolver.values import (
    ACTIVE,
    BOTTOM,
    DATA,
    SPELLING,
    STRING_UNKNOWNS,
    TEXT,
    UNDEFINED,
    V_BOOLEAN,
    V_DATA,
    V_GLOBAL,
    V_NUMBER,
    V_STRING,
    V_U1,
    V_UNDEFINED,
    Value,
    is_active,
    join,
    known,
    of,
)

if TYPE_CHECKING:
    from evalward.guard.resolver.calls import Call, Calls
    from evalward.guard.resolver.natives import Transfer

_TEXTUAL = STRING_UNKNOWNS | {DATA}
_OUTSIDE = SPELLING | {TEXT}
_SCRIPTED = re.compile(r"<\s*(?:\w+:)?script\b|[\s/\"']on[a-z]+\s*=|javascript:", re.IGNORECASE)
_ELEMENT = of(known("Element"))
_SCRIPTS = frozenset({"script", "svg:script"})
_DISPATCHED = "dispatched events"


def _url(run: Calls, call: Call) -> Value:
    made = run.instance("URL.prototype", call.start)
    text = run.strings(call.arg(0), call.start, call.end)
    if any(type(atom) is str and is_active(atom) for atom in text) or ACTIVE in text:
        for atom in made:
            if isinstance(atom, HeapObject):
                run.put(atom, "href", of(ACTIVE))
                run.put(atom, "protocol", of(ACTIVE))
                run.put(atom, "@@toPrimitive", of(known("URL.prototype.toString active")))
    spelt = text & SPELLING
    for atom in made if spelt else BOTTOM:
        if isinstance(atom, HeapObject):
            run.put(atom, "href", spelt)
            run.put(atom, "protocol", spelt)
            run.put(atom, "@@primitive", spelt)
    return made


def _blob(run: Calls, call: Call) -> Value:
    """Make a blob: markup with script in it makes a document of its URL, in a frame of the same origin."""
    made = run.instance("Response.prototype", call.start)
    for part in run.iterated(call.arg(0), None, call.start, call.end):
        for text in run.strings(of(part), call.start, call.end):
            if text is ACTIVE or text in SPELLING or (type(text) is str and _SCRIPTED.search(text)):
                for atom in made:
                    if isinstance(atom, HeapObject):
                        run.put(atom, "@@markup", of(text if text in SPELLING else ACTIVE))
    return made


def _object_url(run: Calls, call: Call) -> Value:
    result = V_STRING
    for atom in call.arg(0):
        if isinstance(atom, HeapObject):
            atom.readers[run.reader] = None
            result = join(result, atom.properties.get("@@markup", BOTTOM))
    return result


def _open(run: Calls, call: Call) -> Value:
    run.sink("navigate", call.arg(0), call.start, call.end)
    return of(known("globalThis")) if call.path == "open" else of(known("document"))


def _write(run: Calls, call: Call) -> Value:
    run.report(INJECTION, 0, call.start, call.end, None, "text is written into the document")
    return V_UNDEFINED


def _perhaps_write(run: Calls, call: Call) -> Value:
    """Judge ``x.write(text)`` where x may be a document, and is mostly a stream."""
    for value in (*call.args, call.rest):
        run.sink("html", value, call.start, call.end, certain=False)
        run.leak(value, Flow.ARGUMENT, call.start, call.end)
    return V_U1


def _perhaps_create_element(run: Calls, call: Call) -> Value:
    """Judge ``x.createElement(name)`` where x may be a document, or what only builds a tree of its own."""
    for atom in run.strings(call.arg(1 if call.path.endswith("NS") else 0), call.start, call.end):
        if type(atom) is str and atom.lower() in _SCRIPTS:
            run.report(INJECTION, 0, call.start, call.end, None, "a script element is made")
    for value in (*call.args, call.rest):
        run.leak(value, Flow.ARGUMENT, call.start, call.end)
    return V_U1


def _perhaps_navigate(run: Calls, call: Call) -> Value:
    """Judge ``x.assign(url)`` where x may be a window's location, and ``x.open(url)`` where it may be a window."""
    if len(call.args) == 1 or call.path.endswith("open"):
        for atom in call.arg(0):
            if type(atom) is str and SCRIPT_URL.match(atom):
                run.report(INJECTION, 0, call.start, call.end, None, "the URL is a script")
    return V_U1


def _perhaps_worker(run: Calls, call: Call) -> Value:
    """Judge ``new x.Worker(url)`` where x may be a window: the text of a ``data:`` URL would run."""
    for atom in call.arg(0):
        if type(atom) is str and atom.strip().lower().startswith("data:"):
            run.report("worker", 0, call.start, call.end, None, "the URL is a script")
    return V_U1


def _perhaps_exec_command(run: Calls, call: Call) -> Value:
    """Judge ``x.execCommand(…)`` where x may be a document, or an editor."""
    run.sink("html", call.arg(2), call.start, call.end, certain=False)
    for value in (*call.args, call.rest):
        run.leak(value, Flow.ARGUMENT, call.start, call.end)
    return V_U1


def _perhaps_markup(run: Calls, call: Call) -> Value:
    """Judge ``x.createContextualFragment(text)`` and the like, where x may be of the page."""
    for value in (*call.args, call.rest):
        run.sink("html", value, call.start, call.end, certain=False)
    run.leak(call.all(), Flow.ARGUMENT, call.start, call.end)
    return V_U1


def _read_document(run: Calls, call: Call) -> Value:
    """``XMLHttpRequest.open``: a ``data:`` URL with script in its markup is a document that the page may adopt."""
    for text in run.strings(call.arg(1), call.start, call.end):
        if type(text) is str and holds_active_document(text):
            run.report(INJECTION, 0, call.start, call.end, None, "the markup of the URL holds script")
    run.leak(call.all(), Flow.ARGUMENT, call.start, call.end)
    return V_UNDEFINED


def _for_each_token(run: Calls, call: Call) -> Value:
    """``DOMTokenList.forEach``: the callback is given text of the page."""
    run.use(call.arg(0), Flow.CALLBACK, call.start, call.end)
    run.call(call.arg(0), call.arg(1), (of(TEXT), V_NUMBER, call.this), call.start, call.end)
    return V_UNDEFINED


def _trusted_types_policy(run: Calls, call: Call) -> Value:
    """``trustedTypes.createPolicy``: the policy's methods give what the functions of its rules give."""
    del run
    return call.arg(1)


def _for_each_pair(run: Calls, call: Call) -> Value:
    """``URLSearchParams.forEach``: the callback is given two texts."""
    run.use(call.arg(0), Flow.CALLBACK, call.start, call.end)
    run.call(call.arg(0), call.arg(1), (of(TEXT), of(TEXT), call.this), call.start, call.end)
    return V_UNDEFINED


def _insert_html(run: Calls, call: Call) -> Value:
    run.sink("html", call.arg(1), call.start, call.end)
    return V_UNDEFINED


def _set_attribute(run: Calls, call: Call) -> Value:
    offset = 1 if call.path.endswith("NS") else 0
    run.set_attribute(call.arg(offset), call.arg(offset + 1), call.start, call.end)
    run.use(call.all(), Flow.COERCE, call.start, call.end)
    return V_UNDEFINED


def _create_element(run: Calls, call: Call) -> Value:
    for atom in run.strings(call.arg(1 if call.path.endswith("NS") else 0), call.start, call.end):
        if type(atom) is str:
            if atom.lower() in {"script", "object", "embed"} or atom.lower().endswith(":script"):
                run.report(INJECTION, 0, call.start, call.end, None, "a script element is made")
        elif atom in _OUTSIDE or run.strict:
            run.report(
                INJECTION, 1, call.start, call.end, None, "an element is made whose name cannot be resolved"
            )
    return _ELEMENT


def _create_document(run: Calls, call: Call) -> Value:
    """``createDocument``: the root element has the given name, and may be moved to the page."""
    for atom in run.strings(call.arg(1), call.start, call.end):
        if type(atom) is str and atom.lower().rpartition(":")[2] == "script":
            run.report(INJECTION, 0, call.start, call.end, None, "a script element is made")
    return of(known("document"))


def _listener(run: Calls, call: Call) -> Value:
    """``addEventListener``: the listener is called with an event; ``this`` is the element."""
    run.use(call.arg(1), Flow.CALLBACK, call.start, call.end)
    made = run.instance("Event.prototype", call.start)
    run.patches.readers[run.reader] = None
    run.tell_thrown(made)
    event = join(made, run.patches.properties.get(_DISPATCHED, BOTTOM))
    for atom in made:  # a dispatched one is given no target here: the host holds it
        if isinstance(atom, HeapObject):
            current = (
                V_GLOBAL
                if call.path == "addEventListener"
                else frozenset(a for a in call.this if a is not UNDEFINED)
            )
            run.put(atom, "currentTarget", current)
            run.put(atom, "target", join(current, _ELEMENT))
    run.call(call.arg(1), call.this, (event,), call.start, call.end)
    for atom in call.arg(1):
        if isinstance(atom, HeapObject) and not atom.callable:
            run.call(
                run.get(of(atom), "handleEvent", call.start, call.end),
                of(atom),
                (event,),
                call.start,
                call.end,
            )
            run.escape_object(atom)
    return V_UNDEFINED


def _event(run: Calls, call: Call) -> Value:
    """Make an event, which carries what its options hold: ``detail``, ``data`` and the rest."""
    made = run.instance("Event.prototype", call.start)
    for atom in made:
        if isinstance(atom, HeapObject):
            for source in call.arg(1):
                if isinstance(source, HeapObject):
                    source.readers[run.reader] = None
                    for name, value in source.properties.items():
                        run.put(atom, name, value - V_GLOBAL)  # `view` is among what every event has
    return made


def _dispatch(run: Calls, call: Call) -> Value:
    """``dispatchEvent``: every listener of the payload may get this event."""
    run.put(run.patches, _DISPATCHED, frozenset(a for a in call.arg(0) if isinstance(a, HeapObject)))
    run.leak(call.all(), Flow.ARGUMENT, call.start, call.end)
    return V_BOOLEAN


def _navigate(run: Calls, call: Call) -> Value:
    run.sink("navigate", call.arg(0), call.start, call.end)
    return V_UNDEFINED


def _create_attribute(run: Calls, call: Call) -> Value:
    run.set_attribute(call.arg(1 if call.path.endswith("NS") else 0), V_STRING, call.start, call.end)
    return _ELEMENT


_OF_SCRIPTS = re.compile(r"(?:^|[\s>+~,(|])script(?![\w-])[^\s>+~,]*\s*(?:[,)]|$)", re.IGNORECASE)
_SCRIPT: Value = of(known("ScriptElement"))
_SCRIPT_ATTRIBUTES = frozenset({"src", "href", "xlink:href"})


def _select(run: Calls, call: Call) -> Value:
    """Find elements: what a selector of scripts finds may be one."""
    path = call.path.rpartition(".")[2]
    made = run.materialize(run.catalogue.get(call.path).result, call.start)
    if not any(
        type(text) is str and _OF_SCRIPTS.search(text) for text in call.arg(1 if path.endswith("NS") else 0)
    ):
        return made
    if made == _ELEMENT:
        return made | _SCRIPT
    return run.materialize(f"{'array' if path.endswith('All') else 'collection'}:@ScriptElement", call.start)


def _adopt(run: Calls, call: Call) -> Value:
    """``importNode`` and ``adoptNode``: another element of the same kind, or the same one."""
    run.leak(call.arg(0), Flow.ARGUMENT, call.start, call.end)
    return _ELEMENT | (call.arg(0) & _SCRIPT)


def _set_script_attribute(run: Calls, call: Call) -> Value:
    offset = 1 if call.path.endswith("NS") else 0
    names = run.strings(call.arg(offset), call.start, call.end)
    if any(type(name) is not str or name.lower() in _SCRIPT_ATTRIBUTES for name in names):
        run.sink("script", call.arg(offset + 1), call.start, call.end)
    run.set_attribute(names, call.arg(offset + 1), call.start, call.end)
    return V_UNDEFINED


def _attribute_node(run: Calls, call: Call) -> Value:
    names = run.strings(call.arg(1 if call.path.endswith("NS") else 0), call.start, call.end)
    handles = any(type(name) is str and name.lower().startswith("on") for name in names)
    return of(known("HandlerAttr" if handles else "Attr"))


def _toggle_attribute(run: Calls, call: Call) -> Value:
    run.set_attribute(call.arg(0), V_STRING, call.start, call.end)
    return V_BOOLEAN


def _exec_command(run: Calls, call: Call) -> Value:
    run.sink("html", call.arg(2), call.start, call.end)
    return V_BOOLEAN


def _setter(run: Calls, call: Call) -> Value:
    run.sink(call.path.removeprefix("setter "), call.arg(0), call.start, call.end)
    return V_UNDEFINED


def _parse_markup(run: Calls, call: Call) -> Value:
    run.sink("html", call.arg(0), call.start, call.end)
    return of(known("document"))


def _define_element(run: Calls, call: Call) -> Value:
    """``customElements.define``: the page constructs the class and tells it of attributes, which are text."""
    run.use(call.arg(1), Flow.CALLBACK, call.start, call.end)
    made = run.construct(call.arg(1), (), call.start, call.end)
    for atom in made:
        if isinstance(atom, HeapObject):
            method = run.get(of(atom), "attributeChangedCallback", call.start, call.end)
            run.call(method, of(atom), (of(TEXT), of(TEXT), of(TEXT)), call.start, call.end)
    run.leak(call.all(1), Flow.ARGUMENT, call.start, call.end)
    return V_UNDEFINED


def _observer(run: Calls, call: Call) -> Value:
    run.use(call.arg(0), Flow.CALLBACK, call.start, call.end)
    run.call(call.arg(0), V_UNDEFINED, (V_DATA, V_U1), call.start, call.end)
    return run.instance("Observer.prototype", call.start)


TRANSFER: dict[str, Transfer] = {
    "document.write": _write,
    "document.writeln": _write,
    "unknown.write": _perhaps_write,
    "unknown.createElement": _perhaps_create_element,
    "unknown.createElementNS": _perhaps_create_element,
    "unknown.execCommand": _perhaps_exec_command,
    **{
        f"unknown.{name}": _perhaps_markup
        for name in ("createContextualFragment", "setHTMLUnsafe", "parseHTMLUnsafe")
    },
    "unknown.markup": _perhaps_markup,
    "unknown.assign": _perhaps_navigate,
    "unknown.replace": _perhaps_navigate,
    "unknown.open": _perhaps_navigate,
    "unknown.Worker": _perhaps_worker,
    "unknown.SharedWorker": _perhaps_worker,
    "TextHolder.prototype.open": _read_document,
    "DOMTokenList.forEach": _for_each_token,
    "URLSearchParams.prototype.forEach": _for_each_pair,
    "trustedTypes.createPolicy": _trusted_types_policy,
    "URL.parse": _url,
    "document.createDocument": _create_document,
    "document.createElement": _create_element,
    "document.createElementNS": _create_element,
    "Element.insertAdjacentHTML": _insert_html,
    "Element.setAttribute": _set_attribute,
    "Element.setAttributeNS": _set_attribute,
    "Element.addEventListener": _listener,
    "addEventListener": _listener,
    "TextHolder.prototype.addEventListener": _listener,
    "AbortSignal.prototype.addEventListener": _listener,
    "EventClass": _event,
    "Element.dispatchEvent": _dispatch,
    "dispatchEvent": _dispatch,
    "Observer": _observer,
    "location.assign": _navigate,
    "location.replace": _navigate,
    "navigation.navigate": _navigate,
    "open": _open,
    "document.open": _open,
    "URL": _url,
    "URL.createObjectURL": _object_url,
    "Blob": _blob,
    "customElements.define": _define_element,
    "URL.prototype.toString active": lambda _run, _call: of(ACTIVE),
    "document.createAttribute": _create_attribute,
    "document.createAttributeNS": _create_attribute,
    **{
        f"{owner}.{name}{suffix}": _attribute_node
        for owner, name in (("Element", "getAttributeNode"), ("NamedNodeMap", "getNamedItem"))
        for suffix in ("", "NS")
    },
    **{
        f"Element.{name}": _select
        for name in (
            "querySelector",
            "querySelectorAll",
            "closest",
            "getElementsByTagName",
            "getElementsByTagNameNS",
        )
    },
    "document.importNode": _adopt,
    "document.adoptNode": _adopt,
    "ScriptElement.setAttribute": _set_script_attribute,
    "ScriptElement.setAttributeNS": _set_script_attribute,
    "document.execCommand": _exec_command,
    "Element.toggleAttribute": _toggle_attribute,
    **{
        f"setter {kind}": _setter
        for kind in ("html", "script", "url", "value", "scheme", "handler", "navigate")
    },
    "DOMParser.prototype.parseFromString": _parse_markup,
}
